// Makes the pages quicker and sturdier; everything also works without it.
// A form is sent in the background and tried again until the server has it: answers carry the
// number of their screen, so sending one twice counts once.
"use strict";

const main = document.getElementById("main");
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
let busy = false;
let shownAt = performance.now();
let left = 0;  // how often somebody looked elsewhere since the screen came

function say(text, trouble = false) {
  const status = main.querySelector("[data-saved]");
  if (!status) return;
  status.textContent = text;
  status.classList.toggle("trouble", trouble);
}

// Sends until it is answered. A refusal that waiting mends (429, 503) is waited out.
async function send(url, body) {
  for (let tries = 0; ; tries += 1) {
    let pause = Math.min(8000, 400 * 2 ** tries) * (0.7 + 0.6 * Math.random());
    try {
      const control = new AbortController();
      const timer = setTimeout(() => control.abort(), 20000);
      const reply = await fetch(url, { method: body ? "POST" : "GET", body, credentials: "same-origin", signal: control.signal });
      const text = await reply.text();
      clearTimeout(timer);
      if (reply.status !== 429 && reply.status < 500) return { reply, text };
      const after = Number(reply.headers.get("Retry-After"));
      if (after > 0) pause = after * 1000;
    } catch (error) {
      // The network is away.
    }
    const retry = main.querySelector("[data-retry]");
    say(retry ? retry.dataset.retry : `Not saved yet. Trying again${tries > 1 ? " (" + (tries + 1) + ")" : ""} …`, true);
    await wait(pause);
  }
}

// Puts the main part of a page that was fetched in place of the current one, with its pictures.
async function show(text, url, moved) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const fresh = page.getElementById("main");
  if (!fresh) { window.location.assign(url); return; }
  const loaded = [...fresh.querySelectorAll("img:not([loading])")].map((picture) => {
    const copy = new Image();
    copy.src = picture.getAttribute("src");
    return copy.decode().catch(() => {});
  });
  if (loaded.length) await Promise.race([Promise.all(loaded), wait(800)]);
  const stage = stageOf(main);
  main.replaceChildren(...fresh.childNodes);
  document.title = page.title;
  const clean = new URL(url);
  clean.search = "";
  if (moved && clean.pathname !== window.location.pathname) history.pushState(null, "", clean);
  prepare();
  main.focus({ preventScroll: true });
  if (!stage || stage !== stageOf(main)) window.scrollTo({ top: 0 });
}

// The stage of a study: within one, the page stays where it was.
function stageOf(page) {
  const field = page.querySelector("input[name=stage]");
  return field ? field.value : "";
}

async function submit(form, button) {
  if (busy) return;
  busy = true;
  const time = form.elements.namedItem("milliseconds");
  if (time) time.value = String(Math.round(performance.now() - shownAt));
  const body = new URLSearchParams(new FormData(form));
  if (left && time) body.set("left", String(left));
  if (button && button.name) body.set(button.name, button.value);
  document.body.classList.add("busy");
  const card = button && button.closest("[data-card]");
  if (card) card.classList.add("chosen");
  else if (button) button.classList.add("chosen");
  try {
    const { reply, text } = await send(form.action, body);
    await show(text, reply.url, reply.redirected);
  } finally {
    busy = false;
    document.body.classList.remove("busy");
  }
}

function press(value) {
  const button = main.querySelector(`[data-answer] button[type=submit][value="${value}"]`);
  if (button) submit(button.form, button);
  return Boolean(button);
}

// Puts a card where it comes next, or takes it back; the last one left takes the last place, and
// pressing that one, as somebody does who counts to the end, leaves it there.
function place(card) {
  const choices = [...main.querySelectorAll("[data-card] select[name=place]")];
  const select = card.querySelector("select[name=place]");
  const complete = choices.every((choice) => choice.value);
  if (!complete || select.value !== String(choices.length)) select.value = select.value ? "" : nextPlace(choices);
  const left = choices.filter((choice) => !choice.value);
  if (select.value && left.length === 1) left[0].value = nextPlace(choices);
  badges();
  if (choices.every((choice) => choice.value)) main.querySelector("button[value=ranking]").focus({ preventScroll: true });
}

function nextPlace(choices) {
  const taken = new Set(choices.map((choice) => choice.value));
  return choices.map((_, k) => String(k + 1)).find((number) => !taken.has(number)) || "";
}

function badges() {
  for (const card of main.querySelectorAll("[data-card]")) {
    const badge = card.querySelector("[data-badge]");
    if (!badge) continue;
    badge.textContent = card.querySelector("select[name=place]").value;
    badge.hidden = !badge.textContent;
    card.classList.toggle("placed", !badge.hidden);
  }
}

// A place that is given to one answer is taken from the other that had it.
document.addEventListener("change", (event) => {
  if (!event.target.matches("select[name=place]")) return;
  for (const other of main.querySelectorAll("select[name=place]")) {
    if (other !== event.target && other.value === event.target.value) other.value = "";
  }
  badges();
});
document.addEventListener("reset", () => setTimeout(badges));

// The second half of a double click must not answer the screen that has just come up.
document.addEventListener("click", (event) => {
  if (event.detail < 2 || !event.target.closest("[data-card], [data-answer]")) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-answer]")) return;
  event.preventDefault();
  submit(form, event.submitter);
});

document.addEventListener("click", (event) => {
  const copy = event.target.closest("[data-copy]");
  const share = event.target.closest("[data-share]");
  if (share) { shareAnswer(); return; }
  if (copy) {
    const text = main.querySelector("[data-final] .body").innerText.trim();
    navigator.clipboard.writeText(text).then(() => { copy.textContent = "Copied"; }, () => { copy.textContent = "Could not copy"; });
    return;
  }
  const card = event.target.closest("[data-card]");
  if (!card || event.target.closest("button, a, summary, select, label")) return;
  if (String(window.getSelection())) return;  // someone marks a passage
  if (card.querySelector("select[name=place]")) place(card);
  else press(card.dataset.card);
});

// A picture, as large as the window; without this script its link opens it in another tab.
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-zoom]");
  if (!link) return;
  event.preventDefault();
  const dialog = document.createElement("dialog");
  const picture = link.parentElement.querySelector("img").cloneNode();
  const close = document.createElement("button");
  close.className = "button";
  close.textContent = link.dataset.zoom;
  dialog.className = "zoomed";
  dialog.setAttribute("aria-label", picture.alt);
  dialog.append(picture, close);
  dialog.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => { dialog.remove(); link.focus(); });
  document.body.append(dialog);
  dialog.showModal();
});

// The answer itself, not a link: this page is its owner's alone.
async function shareAnswer() {
  const title = document.getElementById("question").innerText.trim();
  const picture = main.querySelector("[data-final] img");
  const words = main.querySelector("[data-final] .body");
  const shared = { title, text: words ? words.innerText.trim() : picture.alt };
  if (picture) {
    const blob = await (await fetch(picture.src)).blob();
    const files = [new File([blob], "answer.webp", { type: blob.type })];
    if (navigator.canShare && navigator.canShare({ files })) shared.files = files;
  }
  navigator.share(shared).catch(() => {});  // somebody who closes the dialog has not failed
}

const KEYS = { ArrowLeft: "0", ArrowRight: "1", u: "undo", s: "skip", "=": "equal", n: "neither" };
for (let k = 1; k <= 9; k += 1) KEYS[k] = String(k - 1);
document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, dialog")) return;
  const value = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (value === undefined || busy) return;
  const card = /^[1-9]$/.test(event.key) && main.querySelector(`[data-card="${value}"]:has(select[name=place])`);
  if (card) place(card);
  else if (!press(value)) return;
  event.preventDefault();
});

// A page that the browser kept (going back) may be out of date: show where things stand.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) window.location.reload();
});
window.addEventListener("popstate", () => window.location.reload());

document.addEventListener("visibilitychange", () => { if (document.hidden) left += 1; });

function prepare() {
  shownAt = performance.now();
  left = 0;
  for (const field of main.querySelectorAll("[data-screen]")) field.value = `${screen.width}x${screen.height} ${innerWidth}x${innerHeight} ${devicePixelRatio}`;
  document.body.classList.add("scripted");
  for (const hint of main.querySelectorAll("[data-scripted]")) hint.hidden = false;
  badges();
  for (const copy of main.querySelectorAll("[data-copy]")) copy.hidden = !navigator.clipboard;
  for (const share of main.querySelectorAll("[data-share]")) share.hidden = !navigator.share;
  goBack();
}

// The end of a study: back to the platform, after a moment to read that all is saved.
async function goBack() {
  const way = main.querySelector("[data-forward]");
  if (!way) return;
  await wait(5000);
  if (!way.isConnected) return;
  if (way.matches("form")) way.submit();
  else window.location.assign(way.href);
}

prepare();
