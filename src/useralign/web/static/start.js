// The start page and the wait: dropped files, pictures made smaller before they are sent, commands
// to copy, and answers that appear as they are written. Everything also works without it.
"use strict";

const main = document.getElementById("main");
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const LARGEST_SIDE = 1024;  // the server makes them no larger either
const SMALL = 300000;  // bytes: not worth the trouble

for (const hint of main.querySelectorAll("[data-scripted]")) hint.hidden = false;

document.addEventListener("click", (event) => {
  const copy = event.target.closest("[data-copies]");
  if (!copy) return;
  const text = copy.parentElement.querySelector("code").textContent;
  navigator.clipboard.writeText(text).then(() => { copy.textContent = "Copied"; }, () => { copy.textContent = "Could not copy"; });
});
for (const copy of main.querySelectorAll("[data-copies]")) copy.hidden = !navigator.clipboard;

// A phone gets fewer pictures at once; the server decides by this.
function tellSize(form) {
  if (form.elements.namedItem("small") || !window.matchMedia("(max-width: 40rem)").matches) return;
  const field = document.createElement("input");
  field.type = "hidden";
  field.name = "small";
  field.value = "true";
  form.append(field);
}

for (const asking of main.querySelectorAll('form[action="/ask"]')) tellSize(asking);
const form = main.querySelector("[data-ask]");
if (form) {
  bring(form);
  form.elements.namedItem("question").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;  // Shift for a new line
    event.preventDefault();
    if (event.target.value.trim()) form.requestSubmit();
  });
}

function bring(form) {
  const input = form.querySelector("#files");
  const own = form.querySelector("[data-own]");
  const trouble = main.querySelector("[data-trouble]");
  const button = form.querySelector(".bar button");
  const label = button.textContent;
  let busy = false;

  function complain(text) {
    trouble.textContent = text;
    trouble.hidden = !text;
    if (text) trouble.scrollIntoView({ block: "center" });
  }

  // Files may be dropped anywhere; what was chosen before stays.
  let depth = 0;
  const carries = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  document.addEventListener("dragenter", (event) => {
    if (!carries(event)) return;
    depth += 1;
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (!carries(event)) return;
    depth -= 1;
    if (depth <= 0) document.body.classList.remove("dropping");
  });
  document.addEventListener("dragover", (event) => { if (carries(event)) event.preventDefault(); });
  document.addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    document.body.classList.remove("dropping");
    const all = new DataTransfer();
    for (const file of [...input.files, ...event.dataTransfer.files]) all.items.add(file);
    input.files = all.files;
    own.open = true;
    button.focus();
  });

  // Files are sent in the background: a page that came back with an error could not hold them.
  form.addEventListener("submit", async (event) => {
    if (!input.files.length) return;
    event.preventDefault();
    if (busy) return;
    busy = true;
    complain("");
    document.body.classList.add("busy");
    button.textContent = "Sending …";
    try {
      const body = new FormData(form);
      body.delete("files");
      for (const file of input.files) body.append("files", await smaller(file), file.name);
      const reply = await fetch(form.action, { method: "POST", body, credentials: "same-origin" });
      if (reply.redirected) { window.location.assign(reply.url); return; }
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      const problem = page.querySelector("[data-trouble]:not([hidden]), [data-detail]");
      complain((problem && problem.textContent.trim()) || "That did not work. Nothing is lost: try again.");
    } catch (error) {
      complain("The server cannot be reached just now. Nothing is lost: try again.");
    }
    busy = false;
    document.body.classList.remove("busy");
    button.textContent = label;
  });
}

// A large picture as a smaller one; whatever cannot be read here is sent as it is.
async function smaller(file) {
  if (!file.type.startsWith("image/") || file.size < SMALL) return file;
  try {
    const picture = await createImageBitmap(file);
    const scale = Math.min(1, LARGEST_SIDE / Math.max(picture.width, picture.height));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(picture.width * scale));
    canvas.height = Math.max(1, Math.round(picture.height * scale));
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    picture.close();
    const blob = await new Promise((done) => canvas.toBlob(done, "image/webp", 0.92));
    return blob && blob.size < file.size ? blob : file;
  } catch (error) {
    return file;
  }
}

// Shows answers as they are written, and goes on when there are enough.
async function watch(section) {
  const list = section.querySelector("[data-arrived]");
  let pause = 1000;
  while (section.isConnected) {
    let state;
    try {
      const reply = await fetch(section.dataset.making, { credentials: "same-origin" });
      if (reply.status === 429 || reply.status >= 500) throw new Error("later");
      if (!reply.ok) { window.location.reload(); return; }
      state = await reply.json();
    } catch (error) {
      section.querySelector("[data-saved]").textContent = "The server cannot be reached just now. Trying again …";
      pause = Math.min(8000, 2 * pause);
      await wait(pause);
      continue;
    }
    pause = 1000;
    section.querySelector("[data-saved]").textContent = "";
    if (state.next) { window.location.replace(state.next); return; }
    if (!["waiting", "making"].includes(state.state)) { window.location.reload(); return; }
    if (state.wanted) {
      section.querySelector("[data-count]").textContent = `${state.made} of ${state.wanted}`;
      const bar = section.querySelector("[data-bar]");
      bar.max = state.wanted;
      bar.value = state.made;
    }
    section.querySelector("[data-note]").textContent = state.note;
    const begin = section.querySelector("[data-begin]");
    if (begin) begin.hidden = !state.can_begin;
    state.arrived.forEach((line, k) => {
      if (list.children[k] && list.children[k].textContent === line) return;
      const item = list.children[k] || list.appendChild(document.createElement("li"));
      item.dir = "auto";
      item.className = "new";
      item.textContent = line;
    });
    while (list.children.length > state.arrived.length) list.lastElementChild.remove();
    await wait(pause);
  }
}

const making = main.querySelector("[data-making]");
if (making) watch(making);
