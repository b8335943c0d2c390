// Looks over the page it is run in and returns what a person could stumble over, in words.
// WCAG 2.2, level AA, as far as a program can tell; all text at 4.5, whatever its size.
() => {
  const LEAST = 4.5;
  const found = [];
  const all = (query, from = document) => [...from.querySelectorAll(query)];
  const name = (node) => {
    const text = (node.id && "#" + node.id) || node.getAttribute("class") || "";
    return `<${node.tagName.toLowerCase()} ${text}> "${(node.textContent || "").trim().slice(0, 40)}"`;
  };
  const tell = (what, node) => found.push(node ? `${what}: ${name(node)}` : what);

  // Whether someone can see it, however far they scroll.
  const seen = (node) => node.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }) && !clipped(node);
  const clipped = (node) => {
    const hidden = node.closest(".visually-hidden, .skip-link");
    return Boolean(hidden) && hidden !== document.activeElement;
  };

  function structure() {
    if (!document.documentElement.lang) tell("no language");
    if (!document.title.trim()) tell("no title");
    if (all("main").length !== 1) tell("not one main");
    if (all("header").length < 1) tell("no header");
    for (const nav of all("nav")) if (!nav.getAttribute("aria-label")) tell("a nav without a name", nav);
    for (const node of all("body > *:not(script)")) if (!node.matches("header, main, footer, .skip-link")) tell("outside the landmarks", node);
    const skip = document.querySelector("body > a:first-child");
    if (!skip || !document.querySelector(skip.getAttribute("href"))) tell("no way to skip to the content");
    for (const node of all("[style], [onclick], style")) tell("something inline", node);
  }

  function headings() {
    const heads = all("h1, h2, h3, h4, h5, h6").filter((node) => node.checkVisibility());
    if (heads.filter((node) => node.tagName === "H1").length !== 1) tell("not one h1");
    let last = 0;
    for (const head of heads) {
      const level = Number(head.tagName[1]);
      if (level > last + 1) tell(`h${level} after h${last}`, head);
      if (!head.textContent.trim()) tell("an empty heading", head);
      last = level;
    }
  }

  const words = (node) => (node ? node.textContent.trim() : "");
  const named = (node) => {
    const by = (node.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean);
    return words({ textContent: node.getAttribute("aria-label") || "" })
      || by.map((id) => words(document.getElementById(id))).join("")
      || (node.labels ? [...node.labels].map(words).join("") : "");
  };
  function names() {
    for (const node of all("input:not([type=hidden]), select, textarea, progress")) if (!named(node)) tell("no label", node);
    for (const node of all("button, a[href], summary")) if (!named(node) && !words(node)) tell("no name", node);
    for (const node of all("img")) if (!(node.getAttribute("alt") || "").trim()) tell("no alternative text", node);
    for (const node of all("svg")) if (!node.closest("[aria-hidden=true]") && !(["img", "group"].includes(node.getAttribute("role")) && named(node))) tell("a drawing without a name", node);
    for (const node of all("th")) if (!node.scope) tell("a head of a table without scope", node);
    const ids = all("[id]").map((node) => node.id);
    for (const id of new Set(ids.filter((id, k) => ids.indexOf(id) !== k))) tell(`the id ${id} is there twice`);
    for (const attribute of ["for", "aria-labelledby", "aria-describedby", "aria-controls"]) {
      for (const node of all(`[${attribute}]`)) for (const id of node.getAttribute(attribute).split(/\s+/)) if (!document.getElementById(id)) tell(`${attribute} leads nowhere`, node);
    }
  }

  const channels = (text) => {
    const parts = (text.match(/[\d.]+/g) || ["0", "0", "0", "0"]).map(Number);
    const scale = text.startsWith("color(") ? 255 : 1;
    return [parts[0] * scale, parts[1] * scale, parts[2] * scale, parts.length > 3 ? parts[3] : 1];
  };
  const over = (top, below) => top.slice(0, 3).map((value, k) => value * top[3] + below[k] * (1 - top[3]));
  function ground(node) {
    const layers = [];
    for (let here = node; here; here = here.parentElement) {
      const layer = channels(getComputedStyle(here).backgroundColor);
      if (layer[3] > 0) layers.push(layer);
      if (layer[3] === 1) break;
    }
    const canvas = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
    return layers.reduceRight((below, layer) => over(layer, below), canvas);
  }
  const luminance = (colour) => {
    const [r, g, b] = colour.map((value) => value / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  function ratio(node, ink) {
    const below = ground(node);
    const [low, high] = [luminance(over(channels(ink), below)), luminance(below)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }
  const strength = (node) => {
    let product = 1;
    for (let here = node; here; here = here.parentElement) product *= Number(getComputedStyle(here).opacity);
    return product;
  };
  function contrast() {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const nodes = new Set();
    while (walker.nextNode()) if (walker.currentNode.data.trim()) nodes.add(walker.currentNode.parentElement);
    for (const node of nodes) {
      if (node.matches("script, noscript, option") || !seen(node)) continue;
      const style = getComputedStyle(node);
      const value = ratio(node, node.closest("svg") ? style.fill : style.color);
      if (value < LEAST) tell(`contrast ${value.toFixed(2)}`, node);
      if (strength(node) < 1) tell(`faded to ${strength(node)}`, node);
    }
    for (const node of all("[placeholder]")) {
      const value = ratio(node, getComputedStyle(node, "::placeholder").color);
      if (value < LEAST) tell(`contrast of a placeholder ${value.toFixed(2)}`, node);
    }
  }

  function sizes() {
    const wide = document.scrollingElement.scrollWidth - document.documentElement.clientWidth;
    if (wide > 0) {
      tell(`${wide} px too wide`);
      const edge = document.documentElement.clientWidth;
      for (const node of all("body *")) if (seen(node) && node.getBoundingClientRect().right > edge + 1 && !node.closest(".table-wrap, pre")) tell("sticks out", node);
    }
    for (const node of all("button, input:not([type=hidden]), select, textarea, summary, a.button")) {
      if (!seen(node)) continue;
      const box = (node.matches("input[type=checkbox], input[type=radio]") && node.closest("label") || node).getBoundingClientRect();
      if (box.width < 24 || box.height < 24) tell(`small: ${Math.round(box.width)} by ${Math.round(box.height)}`, node);
    }
  }

  structure();
  headings();
  names();
  contrast();
  sizes();
  return found;
}
