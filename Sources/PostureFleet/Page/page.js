"use strict";

// Everything that comes from a device is put in as text: nothing here ever reads markup.
const $ = (id) => document.getElementById(id);

function make(name, attributes, ...children) {
  const svg = ["svg", "path", "rect", "circle", "text", "title"].includes(name);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null) node.setAttribute(key, value);
  }
  for (const child of children.flat()) {
    if (child !== undefined && child !== null) node.append(child);
  }
  return node;
}

// Talking to the monitor

let token = "";
try { token = sessionStorage.getItem("token") || ""; } catch { /* storage may be off: the token is asked for again */ }

async function ask(path, options = {}) {
  const headers = { "X-Posture": "page", ...(token ? { Authorization: "Bearer " + token } : {}) };
  const answer = await fetch(path, { ...options, headers, cache: "no-store", redirect: "error" });
  if (answer.status === 401) {
    await login();
    return ask(path, options);
  }
  return answer;
}

async function json(path, options) {
  const answer = await ask(path, options);
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error || "error " + answer.status);
  return body;
}

let loggingIn = null;
function login() {
  loggingIn ??= new Promise((done) => {
    $("login").addEventListener("close", () => {
      token = $("token").value.trim();
      $("token").value = "";
      try { sessionStorage.setItem("token", token); } catch { /* as above */ }
      loggingIn = null;
      done();
    }, { once: true });
    $("login").showModal();
  });
  return loggingIn;
}

// Words and times

const verdicts = ["pass", "fail", "unknown"];
const colour = (state) => (verdicts.includes(state) ? state : "odd");

function span(seconds) {
  if (seconds === null || seconds === undefined) return "-";
  const s = Math.max(0, Math.floor(seconds));
  if (s < 100) return s + "s";
  if (s < 5940) return Math.floor(s / 60) + "m";
  if (s < 172800) return Math.floor(s / 3600) + "h";
  return Math.floor(s / 86400) + "d";
}
const ago = (time) => (time ? span(Date.now() / 1000 - time) : "-");
// Where nobody saw the verdict change, it is only known how long it has been so at least.
const held = (row) => (row.since ? ago(row.since) : row.knownSince ? "≥" + ago(row.knownSince) : "-");
// Of what a device says only what has the right shape is drawn: it cannot keep the rest from being seen.
const objects = (list) => (Array.isArray(list) ? list.filter((item) => item && typeof item === "object") : []);
const date = (time) => (time > 0 && time < 253402300800 ? new Date(time * 1000).toISOString().replace(/\.\d+Z$/, "Z") : "-");

// At a glance

const filter = { state: "", q: "", sort: "state" };
let canRecheck = false;

async function refreshGlance() {
  const fleet = await json("/api/v1/fleet");
  canRecheck = fleet.recheck;
  $("recheck").hidden = !canRecheck;
  $("site").textContent = fleet.site;
  document.title = `posture ${fleet.site}: ${fleet.counts.fail || 0} fail of ${fleet.total}`;
  showCounts(fleet);
  showTrend(fleet.trend);
  showFindings(fleet.worst);
  showNotices(fleet);
}

function showCounts(fleet) {
  const states = fleet.states.filter((state) => fleet.counts[state] || verdicts.includes(state));
  const buttons = [["", fleet.total], ...states.map((state) => [state, fleet.counts[state] || 0])].map(([state, count]) => {
    const button = make("button", { type: "button", class: state ? colour(state) : "", "aria-pressed": filter.state === state },
      make("b", { class: !count ? "none" : state ? "state " + colour(state) : "" }, count.toLocaleString("en")), state || "all");
    button.addEventListener("click", () => { filter.state = state; refreshGlance(); table.reset(); });
    return button;
  });
  const focused = [...$("counts").children].indexOf(document.activeElement);
  $("counts").replaceChildren(...buttons);
  if (focused >= 0 && buttons[focused]) buttons[focused].focus();
}

function showTrend(samples) {
  const end = Date.now() / 1000;
  const sizes = samples.map((sample) => Object.values(sample.counts).reduce((a, b) => a + b, 0));
  const most = Math.max(1, ...sizes);
  const bars = [];
  for (const sample of samples) {
    const x = 288 - (end - sample.at) / 300;
    let y = 60;
    const parts = split(sample.counts);
    for (const part of ["pass", "other", "fail"]) {
      const height = (parts[part] / most) * 58;
      y -= height;
      if (height > 0) bars.push(make("rect", { class: part, x: x.toFixed(2), y: y.toFixed(2), width: 1.3, height: height.toFixed(2) }));
    }
  }
  $("trend").replaceChildren(...bars);
  $("most").textContent = samples.length ? `(full height: ${most.toLocaleString("en")} ${most === 1 ? "device" : "devices"})` : "(nothing kept yet)";
  const words = (sample) => { const parts = split(sample.counts); return `pass ${parts.pass}, fail ${parts.fail}, other ${parts.other}`; };
  if (samples.length) $("trend").setAttribute("aria-label", `Devices over the last day. First: ${words(samples[0])}. Last: ${words(samples[samples.length - 1])}.`);
}

function split(counts) {
  const parts = { pass: 0, fail: 0, other: 0 };
  for (const [state, count] of Object.entries(counts)) parts[state === "pass" || state === "fail" ? state : "other"] += count;
  return parts;
}

function showFindings(worst) {
  $("findings").replaceChildren(...worst.map((finding) => {
    const button = make("button", { type: "button", title: finding.meaning }, finding.code);
    button.addEventListener("click", () => { $("search").value = finding.code; search(); });
    return make("li", {}, button, ` ${finding.devices} ${finding.devices === 1 ? "device" : "devices"}`);
  }));
  if (!worst.length) $("findings").replaceChildren(make("li", {}, "none"));
}

function showNotices(fleet) {
  $("notices").replaceChildren(...fleet.notices.map((notice) => make("p", {}, notice)));
}

// The table: only what is in sight is in the document

const table = {
  height: 36, page: 100, total: 0, pages: new Map(), at: -1, asked: 0,

  reset() {
    this.pages.clear();
    this.at = -1;
    $("scroll").scrollTop = 0;
    this.load(0).then(() => this.paint());
  },

  async load(number) {
    const run = ++this.asked;
    const query = new URLSearchParams({ offset: number * this.page, limit: this.page, ...filter });
    this.pages.set(number, this.pages.get(number) || []);
    try {
      const answer = await json("/api/v1/devices?" + query);
      if (answer.q !== filter.q || answer.sort !== filter.sort || answer.state !== filter.state) return;
      this.pages.set(number, answer.devices);
      this.total = answer.total;
      $("total").textContent = `${answer.total.toLocaleString("en")} ${answer.total === 1 ? "device" : "devices"}`;
      $("grid").setAttribute("aria-rowcount", answer.total);
      $("rows").style.height = this.total * this.height + "px";
    } catch { if (run === this.asked) this.pages.delete(number); }
  },

  row(index) { return (this.pages.get(Math.floor(index / this.page)) || [])[index % this.page]; },

  get window() {
    const first = Math.max(0, Math.floor($("scroll").scrollTop / this.height) - 5);
    const count = Math.ceil($("scroll").clientHeight / this.height) + 10;
    return [first, Math.min(this.total, first + count)];
  },

  paint() {
    const [first, end] = this.window;
    const nodes = [];
    for (let index = first; index < end; index++) {
      const row = this.row(index);
      if (row) nodes.push(this.node(row, index));
      else if (!this.pages.has(Math.floor(index / this.page))) this.load(Math.floor(index / this.page)).then(() => this.paint());
    }
    $("rows").replaceChildren(...nodes);
    if (nodes.length && !this.isMeasured) {
      this.isMeasured = true;
      performance.mark("table");
    }
  },

  node(row, index) {
    const policy = make("span", { role: "gridcell" }, row.policy || "-", row.duePolicy ? make("span", { class: "due" }, " → " + row.duePolicy) : null);
    const node = make("div", { role: "row", class: `row ${colour(row.state)}${index === this.at ? " here" : ""}`, "aria-rowindex": index + 1, id: "row-" + index },
      make("span", { role: "gridcell" }, row.device), make("span", { role: "gridcell", class: "state" }, row.state), policy,
      make("span", { role: "gridcell" }, held(row)), make("span", { role: "gridcell" }, span(row.age)),
      make("span", { role: "gridcell" }, row.online === null ? "?" : row.online ? "yes" : "no"),
      make("span", { role: "gridcell", class: "why", title: row.why }, row.why));
    node.style.top = index * this.height + "px";
    node.addEventListener("click", () => open(row.device));
    return node;
  },

  move(to) {
    if (!this.total) return;
    this.at = Math.max(0, Math.min(this.total - 1, to));
    const top = this.at * this.height;
    const box = $("scroll");
    if (top < box.scrollTop) box.scrollTop = top;
    if (top + this.height > box.scrollTop + box.clientHeight) box.scrollTop = top + this.height - box.clientHeight;
    box.setAttribute("aria-activedescendant", "row-" + this.at);
    this.paint();
  },

  patch(changed) {
    const byName = new Map(changed.map((row) => [row.device, row]));
    for (const rows of this.pages.values()) {
      rows.forEach((row, index) => { if (byName.has(row.device)) rows[index] = byName.get(row.device); });
    }
    this.paint();
  },

  // New places in the order: what is in sight is asked for again.
  async refresh() {
    const [first, end] = this.window;
    const from = Math.floor(first / this.page);
    const to = Math.floor(Math.max(first, end - 1) / this.page);
    for (const number of [...this.pages.keys()]) if (number < from || number > to) this.pages.delete(number);
    for (let number = from; number <= to; number++) await this.load(number);
    this.paint();
  },
};

function search() {
  filter.q = $("search").value;
  table.reset();
}

// One device

let shown = null;

async function open(name) {
  shown = name;
  $("name").textContent = name;
  $("said").textContent = "";
  showAccept(false);
  $("detail").replaceChildren("…");
  $("recheck").hidden = !canRecheck;
  if (!$("device").open) $("device").showModal();
  history.replaceState(null, "", "#/d/" + encodeURIComponent(name));
  await refreshDevice();
}

async function refreshDevice() {
  const name = shown;
  if (!name) return;
  const path = "/api/v1/devices/" + encodeURIComponent(name);
  try {
    const [device, past] = await Promise.all([json(path), json(path + "/history?limit=50")]);
    if (shown !== name) return;
    $("acknowledge").hidden = !device.breaches.length;
    if (!device.breaches.length) showAccept(false);
    $("detail").replaceChildren(...detail(device), ...pastOf(past.records, past.remarks));
  } catch (error) { $("detail").replaceChildren(error.message); }
}

function facts(rows) {
  return make("dl", { class: "facts" }, rows.filter((row) => row[1] !== null && row[1] !== undefined && row[1] !== "")
    .flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, value)]));
}

function detail(device) {
  const report = device.report;
  const nodes = [facts([
    ["state", make("span", { class: "state " + colour(device.state) }, device.state)],
    ["verdict", report ? `${device.verdict} (${device.policy})` : null],
    ["online", device.online === null ? "not known" : device.online ? "yes" : "no"],
    ["groups", device.groups.join(" ")],
    ["since", device.knownSince ? `${date(device.since || device.knownSince)}${device.since ? "" : " or earlier"} (${held(device)})` : null],
    ["report", report ? `number ${report.seq}, made ${date(report.iat)} (${ago(report.iat)} ago), because: ${report.cause}` : "none"],
    ["key", device.kid ? `${device.kid} (${report ? report.key_protection : "?"})` : null],
    ["events", eventsOf(device)],
    ["agent", report ? report.swversion.join(" ") : null],
  ])];
  nodes.push(...device.explanations.map((item) =>
    make("p", { class: "alarm" }, make("b", {}, item.condition), ` ${item.meaning} ${item.advice}`)));
  nodes.push(...device.breaches.filter((item) => item.breach === "declaredLoss").map((item) =>
    make("p", { class: "alarm" }, make("b", {}, item.breach), ` The device itself says: ${item.text}. Look why, then acknowledge it.`)));
  if (!report) return nodes;
  const evidence = report.evidence || {};
  nodes.push(make("h3", {}, "checks"), checksOf(evidence), make("h3", {}, "findings"), ...findingsOf(evidence),
    make("h3", {}, "doors: what opens each"), doorsOf(evidence));
  if (device.unshown) nodes.push(make("p", { class: "alarm" }, device.unshown));
  if (evidence.leftOut) nodes.push(make("p", { class: "places" }, "left out for size: " + JSON.stringify(evidence.leftOut)));
  return nodes;
}

function eventsOf({ events, breaches }) {
  if (!events) return null;
  const broken = breaches.find((item) => item.breach === "chainBroken");
  if (broken) return broken.text;
  if (events.missing.length) return "missing " + events.missing.map((range) => range.join(" to ")).join(", ");
  return events.declaredLost ? events.declaredLost + " declared lost" : `complete as far as seen (${events.eseq ?? 0})`;
}

const place = (item) => (item.line ? `${item.file}:${item.line}` : item.file);

function checksOf(evidence) {
  return make("ul", { class: "checks" }, objects(evidence.checks).map((check) =>
    make("li", { class: check.required ? "required" : "" }, make("span", {}, check.check + (check.required ? " *" : "")),
      make("span", { class: check.result }, check.result))));
}

function findingsOf(evidence) {
  const list = objects(evidence.findings);
  if (!list.length) return [make("p", {}, "none")];
  return list.map((finding) => make("div", { class: "finding " + finding.severity },
    make("p", {}, make("b", {}, finding.code), ` ${finding.severity}, ${finding.check}${finding.subject === "*" ? "" : ", " + finding.subject}${finding.since ? ", since " + date(finding.since) : ""}`),
    make("p", {}, finding.observed), make("p", { class: "places" }, objects(finding.evidence).map(place).join("  ")),
    finding.advice ? make("p", { class: "advice" }, finding.advice) : null));
}

// A door that asks is locked, one that does not stands open, one that nobody gets through is barred.
const drawings = {
  required: () => [leaf("M5 3 H41 V61 H5 Z"), make("path", { class: "line", d: "M19 33 V28 A4 4 0 0 1 27 28 V33" }),
    make("rect", { class: "knob", x: 16, y: 33, width: 14, height: 11, rx: 2 })],
  notRequired: () => [make("path", { class: "hole", d: "M5 3 H41 V61 H5 Z" }), leaf("M5 3 L25 10 V63 L5 61 Z"), make("circle", { class: "knob", cx: 21, cy: 36, r: 2 })],
  unknown: () => [leaf("M5 3 H41 V61 H5 Z"), make("text", { x: 23, y: 40 }, "?")],
  closed: () => [leaf("M5 3 H41 V61 H5 Z"), make("path", { class: "line", d: "M5 18 L41 46 M41 18 L5 46" })],
};
const leaf = (d) => make("path", { class: "leaf", d });
const words = { required: "asks", notRequired: "open", unknown: "not known", closed: "closed" };

function drawing(answer) {
  return make("svg", { viewBox: "0 0 46 66", role: "img", "aria-label": words[answer] },
    make("rect", { class: "frame", x: 4, y: 2, width: 38, height: 60 }), ...drawings[answer]());
}

const answerOf = (door) => (Object.hasOwn(drawings, door.answer) ? door.answer : "unknown");

function doorsOf(evidence) {
  // What stands open is looked for first.
  const order = ["notRequired", "unknown", "required", "closed"];
  const doors = objects(evidence.doors).sort((a, b) => order.indexOf(answerOf(a)) - order.indexOf(answerOf(b)));
  return make("ul", { class: "doors" }, doors.map((door) => {
    const answer = answerOf(door);
    const because = objects(door.because).map((reason) => reason.code + (reason.file ? " " + place(reason) : ""));
    return make("li", { class: answer === "required" ? "required-door" : answer }, drawing(answer), make("div", {},
      make("b", {}, door.door), make("span", { class: "subject" }, [door.subjects || door.subject].flat().join(" ")),
      make("div", { class: "chips" }, waysOf(door)), door.behind ? make("div", { class: "subject" }, "behind " + door.behind) : null,
      door.note ? make("div", { class: "subject" }, door.note) : null,
      ...because.map((line) => make("div", { class: "places" }, line))));
  }));
}

function waysOf(door) {
  if (!Array.isArray(door.opensWith)) return [make("span", { class: "chip" }, "not known")];
  if (!door.opensWith.length) return [make("span", { class: "chip" }, "nothing opens it")];
  return door.opensWith.flatMap((set, index) => [
    index ? make("span", { class: "or" }, "or") : null,
    ...([set].flat().length ? [set].flat().map((factor) => make("span", { class: "chip" }, factor)) : [make("span", { class: "chip none" }, "nothing needed")]),
  ]);
}

function pastOf(records, remarks) {
  const rows = [
    ...records.map((record) => ({ at: record.received, what: record.typ === "eat+jwt" ? "report" : "event", number: String(record.seq), verdict: record.verdict || "" })),
    ...remarks.map((remark) => ({ at: remark.at, what: "remark", text: remarkOf(remark) })),
  ].sort((a, b) => b.at - a.at);
  if (!rows.length) return [];
  return [make("h3", {}, "history"), make("table", { class: "history" },
    make("thead", {}, make("tr", {}, ...["received", "what", "number", "verdict"].map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, rows.map((row) => make("tr", {}, make("td", {}, date(row.at)), make("td", {}, row.what),
      ...(row.text ? [make("td", { colspan: 2 }, row.text)]
        : [make("td", {}, row.number), make("td", { class: "state " + row.verdict }, row.verdict)]))))) ];
}

function remarkOf(remark) {
  return remark.remark === "acknowledged" ? `acknowledged by ${remark.by}: ${remark.text}` : [remark.remark, remark.text].filter(Boolean).join(": ");
}

// What devices have said of rechecks since the page was opened.
let replies = 0;

async function act(what, query = "") {
  if (!shown) return;
  const button = $(what);
  button.disabled = true;
  const before = replies;
  try {
    const answer = await json(`/api/v1/devices/${encodeURIComponent(shown)}/${what}${query}`, { method: "POST" });
    // A device may have answered before the monitor did.
    if (replies === before) $("said").textContent = answer.said;
    if (what === "acknowledge") await refreshDevice();
  } catch (error) { $("said").textContent = error.message; }
  button.disabled = false;
}

function showAccept(isShown) {
  $("accept").hidden = !isShown;
  $("acknowledge").setAttribute("aria-expanded", isShown);
  if (isShown) $("why").focus();
  else $("why").value = "";
}

// Live

let stale = false;
const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

function take(event, data) {
  if (event === "reset") { stale = true; table.refresh(); return; }
  const message = JSON.parse(data);
  if (event === "rows") {
    stale = true;
    table.patch(message);
    if (message.some((row) => row.device === shown)) refreshDevice();
  }
  if (event === "reply" && message.device === shown) {
    replies += 1;
    $("said").textContent = message.said;
    setTimeout(refreshDevice, 500);
  }
}

// Only a line feed ends a line here: what devices say may hold what else is one to a regular expression.
const field = (part, name) => part.split("\n").find((line) => line.startsWith(name + ": "))?.slice(name.length + 2);

async function follow() {
  for (;;) {
    try {
      const answer = await ask("/api/v1/events");
      if (answer.ok) {
        $("link").textContent = "live";
        $("link").className = "live";
      }
      // A monitor that has too many readers shows what there is all the same.
      await Promise.all([refreshGlance(), table.refresh()]);
      if (!answer.ok) throw new Error("error " + answer.status);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        rest += value;
        const parts = rest.split("\n\n");
        rest = parts.pop();
        for (const part of parts) {
          const [event, data] = [field(part, "event"), field(part, "data")];
          if (event && data) take(event, data);
        }
      }
    } catch { /* the monitor is away: tried again */ }
    $("link").textContent = "not connected to the monitor";
    $("link").className = "lost";
    await wait(3000);
  }
}

// Orders and counts follow at their leisure.
setInterval(() => { if (stale) { stale = false; refreshGlance().catch(() => {}); table.refresh(); } }, 2000);
setInterval(() => { refreshGlance().catch(() => {}); table.paint(); }, 30000);

// Keys and buttons

$("scroll").addEventListener("scroll", () => requestAnimationFrame(() => table.paint()));
$("scroll").addEventListener("keydown", (event) => {
  const far = Math.floor($("scroll").clientHeight / table.height);
  const moves = { ArrowDown: table.at + 1, ArrowUp: table.at - 1, PageDown: table.at + far, PageUp: table.at - far, Home: 0, End: table.total - 1 };
  if (event.key in moves) { event.preventDefault(); table.move(moves[event.key]); }
  if (event.key === "Enter" && table.row(table.at)) {
    // Else the key would press the first button of the dialog, too.
    event.preventDefault();
    open(table.row(table.at).device);
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !["INPUT", "SELECT"].includes(document.activeElement.tagName) && !shown) {
    event.preventDefault();
    $("search").focus();
  }
});
$("search").addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") { event.preventDefault(); $("scroll").focus(); table.move(0); }
});
let typing;
$("search").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(search, 150); });
$("sort").addEventListener("change", () => { filter.sort = $("sort").value; table.reset(); });
$("tools").addEventListener("submit", (event) => { event.preventDefault(); search(); });
$("close").addEventListener("click", () => $("device").close());
$("device").addEventListener("close", () => { shown = null; history.replaceState(null, "", "#"); $("scroll").focus(); });
$("recheck").addEventListener("click", () => act("recheck"));
$("acknowledge").addEventListener("click", () => showAccept($("accept").hidden));
$("accept").addEventListener("submit", (event) => {
  event.preventDefault();
  act("acknowledge", "?why=" + encodeURIComponent($("why").value.trim()));
});
addEventListener("resize", () => table.paint());

follow();
const linked = /^#\/d\/(.+)$/.exec(location.hash);
if (linked) open(decodeURIComponent(linked[1]));
