// Tells where the keyboard is, and whether someone could see that.
() => {
  const node = document.activeElement;
  const shows = (it) => {
    if (!it) return false;
    const style = getComputedStyle(it);
    return (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2) || style.boxShadow.includes("0px 0px 0px 3px");
  };
  if (!node || node === document.body) return null;
  const controls = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]")];
  const scripted = node.matches("main");
  return { place: controls.indexOf(node), visible: scripted || shows(node) || shows(node.nextElementSibling), what: node.outerHTML.slice(0, 120) };
}
