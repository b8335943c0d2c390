// A few screens and a shortlist, anywhere: the element <user-align> for any web page, which talks to a
// useralign server, and the widget of a notebook, whose session is in the kernel. Both are a View.
// One plain module: no build step, nothing inline, nothing from elsewhere.

const STYLE = `
:host { display: block; }
:host([hidden]) { display: none; }
.box {
  container-type: inline-size;
  --accent: var(--ua-accent, light-dark(#0e5c54, #7fd3c3));
  --on-accent: var(--ua-on-accent, light-dark(#ffffff, #06211c));
  --ink: var(--ua-ink, light-dark(#1e2421, #ebeee8));
  --soft: var(--ua-soft, light-dark(#59625d, #a8b2ab));
  --surface: var(--ua-surface, light-dark(#fffdfa, #1b211f));
  --sunken: var(--ua-sunken, light-dark(#efeae0, #0e1211));
  --line: var(--ua-line, light-dark(#ddd6c8, #323b37));
  --edge: var(--ua-edge, light-dark(#8c8778, #77827c));
  --bad: var(--ua-bad, light-dark(#9c2b22, #f2978c));
  --round: var(--ua-round, 14px);
  --gap: var(--ua-gap, 0.8em);
  --font: var(--ua-font, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif);
  --text-font: var(--ua-text-font, Charter, "Bitstream Charter", "Iowan Old Style", "Sitka Text", Cambria, "Noto Serif", "Liberation Serif", Georgia, serif);
  --shadow: 0 1px 2px light-dark(rgb(40 34 20 / 6%), rgb(0 0 0 / 40%)), 0 6px 20px light-dark(rgb(40 34 20 / 7%), rgb(0 0 0 / 30%));
  color: var(--ink); font: 1em/1.5 var(--font); text-align: start; padding: 2px;
}
*, *::before { box-sizing: border-box; }
[hidden] { display: none !important; }
h2, h3, p, figure { margin: 0; }
h2 { font: 500 1.5em/1.2 var(--text-font); letter-spacing: -0.01em; text-wrap: balance; overflow-wrap: anywhere; margin-bottom: 0.3em; max-width: 36em; }
h3 { font: 600 1em/1.3 var(--font); margin: 0 0 0.6em; }
button { font: 600 1em/1.2 var(--font); color: inherit; cursor: pointer; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 6px; }
.frame:focus { outline: none; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.standing { display: flex; align-items: center; gap: 0.6em; color: var(--soft); font-size: 0.94em; font-variant-numeric: tabular-nums; margin-bottom: 0.4em; }
.dots { display: flex; gap: 0.35em; }
.dots i { width: 0.6em; height: 0.6em; border-radius: 50%; border: 1.2px solid var(--edge); }
.dots .done { background: var(--accent); border-color: transparent; opacity: 0.55; }
.dots .now { background: var(--accent); border-color: transparent; scale: 1.2; }
.task { color: var(--soft); margin-bottom: 0.9em; }
.glance { display: grid; gap: var(--gap); }
.card { position: relative; min-width: 0; background: var(--surface); border: 1px solid var(--line); border-radius: var(--round); padding: 0.9em 1em; box-shadow: var(--shadow); transition: border-color 120ms; }
.card.choice { cursor: pointer; padding-left: 3.4em; }
.card.choice:hover, .card.chosen { border-color: var(--accent); }
.card.chosen { box-shadow: 0 0 0 2px var(--accent); }
.choose { position: absolute; top: 0.75em; left: 0.85em; width: 1.95em; height: 1.95em; padding: 0; border: 1.5px solid var(--edge); border-radius: 50%; background: var(--surface); color: var(--soft); font-size: 0.95em; }
.choose:focus-visible { border-radius: 50%; }
.card:hover .choose, .chosen .choose { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.text { font: 400 1.08em/1.5 var(--text-font); overflow-wrap: anywhere; }
.text p { white-space: pre-line; }
.text > * + * { margin-top: 0.6em; }
.text ul { margin-bottom: 0; padding-left: 1.2em; }
.text code { font-size: 0.88em; }
.cut { color: var(--soft); font-size: 0.9em; }
.card img { display: block; width: 100%; border-radius: 8px; background: var(--sunken); }
.pictures .card { padding: 0; overflow: hidden; }
.pictures img { aspect-ratio: 1; object-fit: cover; border-radius: 0; }
.pictures .choose { border-color: transparent; color: var(--ink); opacity: 0.92; top: 0.5em; left: 0.5em; }
.pictures { grid-template-columns: repeat(2, minmax(0, 1fr)); }
.pictures:is(.n5, .n6, .n7, .n8, .n9) { grid-template-columns: repeat(3, minmax(0, 1fr)); }
.none { grid-column: 1 / -1; min-height: 3em; border: 1px solid var(--line); border-radius: var(--round); background: var(--surface); font-weight: 500; box-shadow: var(--shadow); }
.none:hover, .none.chosen { border-color: var(--accent); box-shadow: 0 0 0 2px var(--accent); }
.row { display: flex; flex-wrap: wrap; gap: 0.2em 1.4em; align-items: center; margin-top: 0.6em; }
.row .last { margin-left: auto; }
.plain { border: 0; background: none; color: var(--soft); padding: 0.4em 0; min-height: 2.6em; font-weight: 500; }
.plain:hover { color: var(--ink); text-decoration: underline; text-underline-offset: 0.16em; }
.button { min-height: 2.75em; padding: 0.5em 1.2em; border-radius: 999px; border: 1px solid var(--accent); background: var(--accent); color: var(--on-accent); }
.button:hover { filter: brightness(0.92); }
.button.quiet { background: transparent; color: var(--ink); border-color: var(--edge); font-weight: 550; }
.button.quiet:hover { background: var(--sunken); filter: none; }
.busy .card:not(.chosen), .busy .none:not(.chosen) { opacity: 0.55; }
.end { display: grid; gap: 1.2em; margin-top: 0.9em; align-items: start; }
.final { padding: 1.3em; }
.final .text { font-size: 1.25em; }
.final img { width: auto; max-width: 100%; max-height: min(60vh, 30em); margin-inline: auto; }
.final .reason { color: var(--soft); margin: 1em 0; }
.runners { display: grid; gap: var(--gap); }
.runners .card .button { margin-top: 0.8em; min-height: 2.4em; padding: 0.35em 0.95em; font-size: 0.94em; }
.runners.pictures .card .button { margin: 0.6em; }
.certain { color: var(--soft); margin-top: 1em; }
.trouble { color: var(--bad); margin-top: 0.6em; }
.note { background: var(--sunken); border-radius: 10px; padding: 0.7em 1em; }
slot { display: block; margin-top: 0.8em; }
@container (min-width: 36em) {
  .texts:not(.n3) { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .texts:is(.n3, .n5, .n6, .n7, .n8, .n9) { grid-template-columns: repeat(3, minmax(0, 1fr)); }
  .pictures { max-width: 40em; }
}
@container (min-width: 52em) {
  .pictures:is(.n7, .n8, .n9) { grid-template-columns: repeat(5, minmax(0, 1fr)); max-width: none; }
  .pictures:is(.n7, .n8, .n9) .none { grid-column: auto; }
  .end .texts { grid-template-columns: minmax(0, 1fr); }
  .end:has(.runners) { grid-template-columns: minmax(0, 1.5fr) minmax(0, 1fr); }
}
@container (max-width: 36em) {
  h2 { font-size: 1.28em; }
  .task { margin-bottom: 0.6em; }
  .next .button { flex: 1 1 100%; }
}
@media (prefers-reduced-motion: reduce) { * { transition: none !important; } }
@media (prefers-contrast: more) { .box { --line: var(--edge); --soft: var(--ink); } }
`;

const LONGEST = 20000; // characters of an answer that are shown
// Control characters and marks that reorder what follows; not the joiners, which hold emoji together.
const HIDDEN = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029]/gu;
const MARKED = /(\*\*[^*]+\*\*|`[^`]+`)/;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

// Makes an element; `on...` are listeners, everything else is an attribute.
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") node.addEventListener("click", value);
    else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter(Boolean));
  return node;
}

function inline(node, line) {
  for (const part of line.split(MARKED)) {
    if (/^\*\*.+\*\*$/s.test(part)) node.append(make("strong", {}, part.slice(2, -2)));
    else if (/^`.+`$/s.test(part)) node.append(make("code", {}, part.slice(1, -1)));
    else node.append(part);
  }
}

// Writes an answer as paragraphs and lists. Whatever it holds becomes text, never HTML.
function write(text) {
  const body = make("div", { class: "text", part: "text", dir: "auto" });
  let open = null;
  for (const line of text.slice(0, LONGEST).replace(HIDDEN, "").split("\n")) {
    const item = /^ {0,8}[-*•] +(.*)$/.exec(line);
    const heading = /^#{1,6} +(.*)$/.exec(line);
    const tag = item ? "UL" : "P";
    if (!line.trim() || heading || (open && open.tagName !== tag)) open = null;
    if (!line.trim()) continue;
    if (heading) { body.append(make("p", {}, make("strong", {}, heading[1]))); continue; }
    if (!open) body.append(open = make(tag));
    else if (!item) open.append("\n");
    if (item) { const entry = make("li"); inline(entry, item[1]); open.append(entry); } else inline(open, line);
  }
  if (text.length > LONGEST) body.append(make("p", { class: "cut" }, `Cut here: the whole answer has ${text.length} characters.`));
  return body;
}

// What a candidate looks like: its picture, or its text.
function show(candidate, name) {
  if (!candidate.picture) return write(candidate.text || candidate.id);
  const alt = (candidate.text || name).slice(0, 200);
  return make("figure", {}, make("img", { src: candidate.picture, alt, part: "picture", crossorigin: "anonymous", decoding: "async" }));
}

const counted = (count, thing) => `${count} ${thing}${count === 1 ? "" : "s"}`;

// Draws a session into a shadow root. `act(kind, winner)` is called with what the person does: "choice"
// with a candidate's index, "neither", "undo", "stop", "go_on", "final" with an index.
class View {
  constructor(root, act) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    this.root = root;
    this.act = act;
    this.main = make("div");
    this.status = make("p", { role: "status", class: "hidden", part: "status" });
    root.append(make("div", { class: "box", part: "frame" }, this.main, this.status));
    root.addEventListener("keydown", (event) => this.press(event));
  }

  // The state is a comparison of the HTTP API and, at the end, under `result` its result.
  show(state) {
    const held = this.root.activeElement !== null;
    this.state = state;
    this.busy = false;
    const frame = make("section", { class: "frame", tabindex: "-1", "aria-labelledby": "question" });
    frame.append(...(state.result ? this.ending(state) : this.comparison(state)));
    this.main.replaceChildren(frame);
    if (held) {
      frame.focus({ preventScroll: true });
      if (frame.getBoundingClientRect().top < 0) this.root.host.scrollIntoView();
    }
    this.say(state.result ? `${this.standing(state)}.` : `Screen ${this.standing(state)}.`);
  }

  standing({ result, cost, expected_screens: expected, finished }) {
    if (!result) return `${cost + 1} of about ${expected}`;
    const what = finished === "chosen" ? "Your choice" : result.shortlist.length > 1 ? "Your shortlist" : "Your answer";
    return cost ? `${what}, after ${counted(cost, "screen")}` : what;
  }

  head(state, dots) {
    return [
      make("div", { class: "standing", part: "standing" }, dots, make("span", {}, this.standing(state))),
      make("h2", { id: "question", part: "question", dir: "auto" }, state.question),
    ];
  }

  comparison(state) {
    const { candidates, cost, expected_screens: expected } = state;
    const dots = make("span", { class: "dots", "aria-hidden": "true" });
    for (let k = 0; k < expected && expected <= 12; k += 1) dots.append(make("i", { class: k < cost ? "done" : k === cost ? "now" : "left" }));
    const pair = candidates.length === 2;
    const glance = make("div", { class: `glance ${candidates[0].picture ? "pictures" : "texts"} n${candidates.length}`, part: "cards" });
    candidates.forEach((candidate, k) => glance.append(this.card(candidate, k + 1)));
    if (state.takes.includes("neither")) glance.append(this.button(pair ? "Neither of these" : "None of these", "neither", { class: "none", part: "none" }));
    const row = make("div", { class: "row" });
    if (state.step) row.append(this.button("Undo", "undo", { class: "plain", part: "link" }));
    row.append(this.button("Good enough, show me", "stop", { class: "plain last", part: "link" }));
    const task = `Which do you like ${pair ? "better" : "best"}?`;
    return [...this.head(state, dots), make("p", { class: "task" }, task), glance, row];
  }

  // The whole card can be clicked; the button in it is for the keyboard and for what reads aloud.
  card(candidate, number) {
    const body = show(candidate, `Picture ${number}`);
    body.id = `card-${number}`;
    const choose = make("button", { class: "choose", part: "number", type: "button", "aria-label": `Choose answer ${number}`, "aria-describedby": body.id }, String(number));
    const onclick = (event) => { if (event.detail < 2 && !String(document.getSelection())) this.send("choice", candidate.index, card); };
    const card = make("article", { class: "card choice", part: "card", "aria-label": `Answer ${number}`, onclick }, choose, body);
    return card;
  }

  ending(state) {
    const [best, ...others] = state.result.shortlist;
    const chosen = state.finished === "chosen";
    const pictures = best.picture ? "pictures" : "texts";
    const take = chosen ? this.button("Change my mind", "undo", { class: "button quiet", part: "button" }) : this.button("This one", "final", { class: "button", part: "button primary" }, best);
    const final = make("article", { class: "card final", part: "card answer", "aria-label": chosen ? "Your choice" : "The best for you" }, show(best, "Your picture"), make("p", { class: "reason", part: "reason" }, state.result.why), take);
    const runners = make("div", { class: `runners ${pictures}` });
    others.forEach((candidate, k) => runners.append(make("article", { class: "card", part: "card", "aria-label": `Number ${k + 2}` }, show(candidate, `Picture ${k + 2}`),
      this.button("This one", "final", { class: "button quiet", part: "button", "aria-label": `This one: number ${k + 2}` }, candidate))));
    const head = make("h3", {}, chosen ? "The others of the shortlist" : "Or one of these");
    const end = make("div", { class: "end" }, final, others.length ? make("section", {}, head, runners) : null);
    const row = make("div", { class: "row next" });
    const proven = state.finished === "bound" && !state.sure;
    if (!proven && state.finished !== "exhausted") row.append(this.button("Two more screens", "go_on", { class: "button quiet", part: "button" }));
    if (state.step && !chosen) row.append(this.button(state.finished === "stopped" ? "Keep comparing" : "Undo the last answer", "undo", { class: "plain", part: "link" }));
    const { certainty } = state.result;
    return [...this.head(state), end, certainty && make("p", { class: "certain" }, certainty), row].filter(Boolean);
  }

  button(label, kind, attributes, candidate) {
    const onclick = (event) => { event.stopPropagation(); if (event.detail < 2) this.send(kind, candidate?.index, event.currentTarget); };
    return make("button", { type: "button", ...attributes, onclick }, label);
  }

  // One answer at a time: what is clicked while one is on its way does nothing.
  send(kind, winner, source) {
    if (this.busy) return;
    this.busy = true;
    source?.classList.add("chosen");
    this.main.firstChild.classList.add("busy");
    this.act(kind, winner);
  }

  press(event) {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || !this.state) return;
    const { candidates, result, step, takes } = this.state;
    const key = event.key.toLowerCase();
    if (key === "u" && step) this.send("undo");
    else if (result) return;
    else if (key === "n" && takes.includes("neither")) this.send("neither", undefined, this.root.querySelector(".none"));
    else if (/^[1-9]$/.test(key) && candidates[key - 1]) this.send("choice", candidates[key - 1].index, this.root.querySelectorAll(".card")[key - 1]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // Read aloud; and shown if something is wrong.
  say(text, trouble = false) {
    this.status.textContent = text;
    this.status.className = trouble ? "trouble" : "hidden";
  }

  // Says what is wrong in place of a screen; what the page put into the element stays readable.
  fail(text, again) {
    this.state = null;
    const retry = again && make("p", { class: "row" }, make("button", { class: "button quiet", part: "button", type: "button", onclick: again }, "Try again"));
    this.main.replaceChildren(...[make("p", { class: "note", role: "alert", part: "note" }, text), retry, make("slot")].filter(Boolean));
    this.status.textContent = "";
  }
}

class Refusal extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

// <user-align token-src="/token" pool="ID">, or with `question` and a list of <li> inside.
class UserAlign extends (globalThis.HTMLElement ?? Object) {
  static observedAttributes = ["token"];

  connectedCallback() {
    if (!this.view) this.view = new View(this.attachShadow({ mode: "open" }), (kind, winner) => this.answer(kind, winner));
    queueMicrotask(() => this.begin());
  }

  attributeChangedCallback(name, before, token) {
    if (token !== before && this.grant) this.begin(); // the page has brought one, later or anew
  }

  get server() { return new URL(this.getAttribute("server") ?? "/", import.meta.url).origin; }

  async begin() {
    try {
      await this.authorise();
      this.session = await this.resumed() ?? await this.begun();
      this.save(this.session.id);
      await this.display(this.session.comparison);
    } catch (error) {
      this.stumble(error);
    }
  }

  // A token comes with the page, or is asked for at the page's own server, which knows the person.
  async authorise() {
    const address = this.getAttribute("token-src");
    this.grant = { token: this.getAttribute("token") };
    if (!address && !this.grant.token) throw new Refusal(401, "This page has no permission to ask you yet; it needs a token of its own server's.");
    if (!address) return;
    const reply = await fetch(address, { cache: "no-store", credentials: "same-origin" }).catch(() => null);
    if (!reply?.ok) throw new Refusal(reply?.status, "This page could not get permission to ask you. Try again in a moment, or reload it.");
    this.grant = await reply.json();
  }

  get texts() { return [...this.querySelectorAll("li")].map((item) => item.textContent.trim()).filter(Boolean); }

  get pool() { return this.getAttribute("pool") ?? this.grant.pool; }

  async begun() {
    const pool = this.pool ?? (await this.call("/pools", { question: this.getAttribute("question") ?? "", texts: this.texts }, 3)).id;
    return this.call("/sessions", { pool }, 3);
  }

  // After a reload the person is where they were.
  get storageKey() { return `user-align ${this.server} ${this.pool ?? [this.getAttribute("question"), ...this.texts].join("\n")}`; }

  save(id) { try { sessionStorage.setItem(this.storageKey, id); } catch { /* A frame may have no storage. */ } }

  async resumed() {
    let id = this.session?.id;
    try { id ??= sessionStorage.getItem(this.storageKey); } catch { /* As above. */ }
    if (!id) return null;
    try {
      return await this.call(`/sessions/${id}`, undefined, 3);
    } catch (error) {
      if (error.status === 404) return null; // somebody else's, or deleted
      throw error;
    }
  }

  async display(comparison) {
    this.step = comparison.step;
    const result = comparison.finished && await this.call(`/sessions/${this.session.id}/result`);
    for (const candidate of [...comparison.candidates, ...(result ? result.shortlist : [])]) {
      if (candidate.picture) candidate.picture = this.address(candidate.picture);
    }
    this.view.show({ ...comparison, result });
    if (!result) return;
    const name = comparison.finished === "chosen" ? "choose" : "result";
    this.dispatchEvent(new CustomEvent(name, { detail: result, bubbles: true, composed: true }));
  }

  // A picture is for whoever may see its pool; an image sends no headers, so its address has the token.
  address(picture) {
    return `${this.server}${picture}${this.grant.token ? `?token=${encodeURIComponent(this.grant.token)}` : ""}`;
  }

  async answer(kind, winner) {
    try {
      const path = `/sessions/${this.session.id}/answers`;
      await this.display(await this.call(path, { step: this.step, kind, winner }));
    } catch (error) {
      if (error.status === 409) this.begin(); // answered elsewhere: show where things stand
      else this.stumble(error);
    }
  }

  // Sends until it is answered: an answer has the number of its screen, so that twice counts once.
  async call(path, body, most = Infinity) {
    for (let tries = 1, renewed = false; ; tries += 1) {
      const reply = await this.fetch(path, body);
      if (reply && reply.status === 401 && !renewed && this.hasAttribute("token-src")) {
        renewed = true;
        await this.authorise();
        continue;
      }
      if (reply && reply.status !== 429 && reply.status < 500) {
        const content = await reply.json();
        if (reply.ok) return content;
        throw new Refusal(reply.status, content.detail);
      }
      if (tries >= most) throw new Refusal(0, `The server at ${this.server} cannot be reached from here, or does not allow this page. It must be started with: --origin ${location.origin}`);
      this.view.say(this.view.state ? "Not saved yet. Trying again …" : "Trying again …", true);
      await wait(Number(reply?.headers.get("Retry-After")) * 1000 || Math.min(8000, 400 * 2 ** tries) * (0.7 + 0.6 * Math.random()));
    }
  }

  async fetch(path, body) {
    const headers = { Authorization: `Bearer ${this.grant.token}` };
    if (body) headers["Content-Type"] = "application/json";
    try {
      return await fetch(`${this.server}/api${path}`, {
        method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), credentials: "omit", signal: AbortSignal.timeout(20000),
      });
    } catch {
      return null; // the network is away
    }
  }

  stumble(error) {
    this.view.fail(error.message, () => this.begin());
    if (error.status === 401) this.dispatchEvent(new CustomEvent("expired", { bubbles: true, composed: true }));
  }
}

if (globalThis.customElements && !customElements.get("user-align")) customElements.define("user-align", UserAlign);

// A notebook has a theme of its own: light text means a dark one.
function scheme(element) {
  const [red, green, blue] = getComputedStyle(element).color.match(/[\d.]+/g).map(Number);
  return red + green + blue > 382 ? "dark" : "light";
}

// What anywidget calls in a notebook. The session is in the kernel, which sends what to show.
function render({ model, el }) {
  // JupyterLab takes keys before anybody else does, unless it is told not to.
  const host = make("div", { "data-lm-suppress-shortcuts": true });
  const view = new View(host.attachShadow({ mode: "open" }), (kind, winner) => model.send({ step: model.get("screen").step, kind, winner }));
  const draw = () => {
    host.style.colorScheme = scheme(el);
    view.show(model.get("screen"));
  };
  el.append(host);
  model.on("change:screen", draw);
  requestAnimationFrame(draw); // once it is in the page, whose colours it takes
  return () => model.off("change:screen", draw);
}

export default { render };
