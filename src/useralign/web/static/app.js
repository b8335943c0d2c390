// Makes the pages quicker and sturdier; everything also works without it.
// A form is sent in the background and tried again until the server has it: answers carry the
// number of their screen, so sending one twice counts once.
"use strict";

const main = document.getElementById("main");
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
let busy = false;
let shownAt = performance.now();

function say(text, trouble = false) {
  const place = main.querySelector("[data-saved]");
  if (!place) return;
  place.textContent = text;
  place.classList.toggle("trouble", trouble);
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
    say(`Not saved yet. Trying again${tries > 1 ? " (" + (tries + 1) + ")" : ""} …`, true);
    await wait(pause);
  }
}

// Puts the main part of a page that was fetched in place of the current one.
function show(text, url, moved) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const fresh = page.getElementById("main");
  if (!fresh) { window.location.assign(url); return; }
  main.replaceChildren(...fresh.childNodes);
  document.title = page.title;
  const clean = new URL(url);
  clean.search = "";
  if (moved && clean.pathname !== window.location.pathname) history.pushState(null, "", clean);
  prepare();
  main.focus({ preventScroll: true });
  window.scrollTo({ top: 0 });
}

async function submit(form, button) {
  if (busy) return;
  busy = true;
  const time = form.elements.namedItem("milliseconds");
  if (time) time.value = String(Math.round(performance.now() - shownAt));
  const body = new URLSearchParams(new FormData(form));
  if (button && button.name) body.set(button.name, button.value);
  document.body.classList.add("busy");
  const card = button && button.closest("[data-card]");
  if (card) card.classList.add("chosen");
  say("Saving …");
  try {
    const { reply, text } = await send(form.action, body);
    show(text, reply.url, reply.redirected);
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

// Puts a card where it comes next, or takes it back; the last one left takes the last place.
function place(card) {
  const choices = [...main.querySelectorAll("[data-card] select[name=place]")];
  const mine = card.querySelector("select[name=place]");
  mine.value = mine.value ? "" : nextPlace(choices);
  const left = choices.filter((choice) => !choice.value);
  if (mine.value && left.length === 1) left[0].value = nextPlace(choices);
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

const KEYS = { ArrowLeft: "0", ArrowRight: "1", 1: "0", 2: "1", 3: "2", 4: "3", u: "undo", s: "skip", "=": "equal", n: "neither" };
document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select")) return;
  const value = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (value === undefined || busy) return;
  const card = /^[1-4]$/.test(event.key) && main.querySelector(`[data-card="${value}"]:has(select[name=place])`);
  if (card) place(card);
  else if (!press(value)) return;
  event.preventDefault();
});

// A page that the browser kept (going back) may be out of date: show where things stand.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) window.location.reload();
});
window.addEventListener("popstate", () => window.location.reload());

async function watch(place) {
  const address = place.dataset.making;
  let seen = place.querySelectorAll("[data-arrived] li").length;
  while (place.isConnected) {
    const { reply, text } = await send(address);
    if (!reply.ok) { window.location.reload(); return; }
    const state = JSON.parse(text);
    if (state.next) { window.location.replace(state.next); return; }
    if (state.state === "failed" || state.state === "ready") { window.location.reload(); return; }
    say("");
    if (state.wanted) {
      place.querySelector("[data-count]").textContent = `${state.made} of ${state.wanted} answers`;
      const bar = place.querySelector("[data-bar]");
      bar.max = state.wanted;
      bar.value = state.made;
    }
    place.querySelector("[data-note]").textContent = state.note;
    const list = place.querySelector("[data-arrived]");
    if (state.arrived.length < seen) { list.replaceChildren(); seen = 0; }
    for (const line of state.arrived.slice(seen)) {
      const item = document.createElement("li");
      item.dir = "auto";
      item.className = "new";
      item.textContent = line;
      list.append(item);
    }
    seen = state.arrived.length;
    await wait(1000);
  }
}

function prepare() {
  shownAt = performance.now();
  document.body.classList.add("scripted");
  for (const hint of main.querySelectorAll("[data-scripted]")) hint.hidden = false;
  badges();
  for (const copy of main.querySelectorAll("[data-copy]")) copy.hidden = !navigator.clipboard;
  const making = main.querySelector("[data-making]");
  if (making) watch(making);
}

prepare();
