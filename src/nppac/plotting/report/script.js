"use strict";
(() => {
  const all = (query, within = document) => [...within.querySelectorAll(query)];
  const entries = all("[data-entry]");
  const MOST_LINES = 8;
  const LEFT = 62, RIGHT = 404, TOP = 10, BOTTOM = 226;
  const readouts = JSON.parse(document.getElementById("readouts").textContent);
  const dataOf = (chart) => readouts[chart.dataset.section][chart.dataset.chart];
  const visible = (chart) => all(".trace:not([hidden])", chart);

  // Switches: curves of a group, a method in every task, whole tasks, single runs.
  const section = (number) => document.getElementById(`task-${number}`);
  const apply = (entry) => {
    const { section: task, entry: group } = entry.dataset;
    all(`.trace[data-group="${group}"]`, section(task)).forEach((trace) => {
      trace.toggleAttribute("hidden", !entry.checked);
    });
  };
  const rescaleTask = (number) => all(".chart", section(number)).forEach(rescale);
  const set = (chosen, on) => {
    chosen.forEach((entry) => { entry.checked = on; apply(entry); });
    new Set(chosen.map((entry) => entry.dataset.section)).forEach(rescaleTask);
  };
  const inTask = (number) => entries.filter((entry) => entry.dataset.section === number);
  document.addEventListener("change", ({ target }) => {
    const data = target.dataset;
    if (data.entry !== undefined) set([target], target.checked);
    if (data.method !== undefined) set(entries.filter((e) => e.dataset.of === data.method), target.checked);
    if (data.task !== undefined) section(data.task).hidden = !target.checked;
    if (data.runs !== undefined) {
      all(".charts", section(data.runs)).forEach((c) => c.classList.toggle("calm", !target.checked));
    }
  });
  document.addEventListener("click", ({ target }) => {
    if (target.dataset.all !== undefined) set(inTask(target.dataset.all), true);
    if (target.dataset.none !== undefined) set(inTask(target.dataset.none), false);
    const heading = target.closest("table.sortable thead th");
    if (heading) sort(heading);
  });
  // Once everything below is defined; a browser may restore switches that the file does not have.
  addEventListener("DOMContentLoaded", () => {
    entries.forEach(apply);
    all(".chart").forEach(rescale);
  });

  // Tables: by number where there is one, what has none last.
  function sort(heading) {
    const table = heading.closest("table"), body = table.tBodies[0], column = heading.cellIndex;
    const up = heading.getAttribute("aria-sort") !== "ascending";
    all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => {
      const cell = row.cells[column];
      return { number: cell.dataset.value === undefined ? null : Number(cell.dataset.value), text: cell.textContent };
    };
    const order = (a, b) => {
      if ((a.number === null) !== (b.number === null)) return a.number === null ? 1 : -1;
      const less = a.number === null
        ? a.text.localeCompare(b.text, "en", { numeric: true })
        : (a.number < b.number ? -1 : Number(a.number > b.number));
      return up ? less : -less;
    };
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => order(a, b));
    body.append(...rows.map(([, row]) => row));
  }

  // Axes: what is visible fills the chart. Paths were drawn for all groups, and are stretched.
  const roundNumbers = (low, high) => {
    const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((s) => s * power).find((s) => s >= rough * 0.999);
    const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
    return Array.from({ length: last - first + 1 }, (_, k) => (first + k) * step);
  };
  const decades = (low, high) => { // of exponents
    const first = Math.ceil(low - 1e-9), last = Math.floor(high + 1e-9);
    const every = Math.max(1, Math.ceil((last - first + 1) / 6)), found = [];
    if (last - first < 1) {
      for (let k = first - 1; k <= last; k += 1) found.push(k, k + Math.log10(2), k + Math.log10(5));
      return found.filter((v) => v >= low - 1e-9 && v <= high + 1e-9);
    }
    for (let k = first; k <= last; k += every) found.push(k);
    return found;
  };
  const short = (v) => {
    for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (Math.abs(v) >= size && Math.abs(v) < 1e12) return `${Number((v / size).toPrecision(4))}${letter}`;
    }
    return v !== 0 && Math.abs(v) < 1e-3 ? v.toExponential(0) : `${Number(v.toPrecision(4))}`;
  };
  const union = (parts) => [Math.min(...parts.map((p) => p[0])), Math.max(...parts.map((p) => p[1]))];
  const wide = ([low, high]) => {
    if (high - low > 1e-12 * Math.max(Math.abs(low), Math.abs(high), 1e-300)) return [low, high];
    const room = Math.abs(low) / 10 || 0.5;
    return [low - room, high + room];
  };
  function range(chart) {
    const data = dataOf(chart), inner = data.log ? Math.log10 : (v) => v;
    const found = visible(chart).map((t) => data.extents[t.dataset.group]).filter((e) => e.length === 4);
    if (!found.length) return { x: data.x, y: data.y.map(inner) };
    const steps = found.map((e) => e.slice(0, 2)), values = found.map((e) => e.slice(2).map(inner));
    if (data.origin !== null) steps.push([data.origin, data.origin]);
    if (data.whole) values.push(data.whole);
    const [low, high] = wide(union(values)), room = 0.03 * (high - low);
    return { x: wide(union(steps)), y: [low - room, high + room] };
  }
  function rescale(chart) {
    const data = dataOf(chart), inner = data.log ? Math.log10 : (v) => v, { x, y } = range(chart);
    const old = data.y.map(inner);
    const across = (v) => LEFT + (v - x[0]) / (x[1] - x[0]) * (RIGHT - LEFT);
    const up = (v) => BOTTOM - (v - y[0]) / (y[1] - y[0]) * (BOTTOM - TOP);
    const a = (across(data.x[1]) - across(data.x[0])) / (RIGHT - LEFT), e = across(data.x[0]) - a * LEFT;
    const d = (up(old[0]) - up(old[1])) / (BOTTOM - TOP), f = up(old[0]) - d * BOTTOM;
    chart.querySelector(".traces").setAttribute("transform", `matrix(${a} 0 0 ${d} ${e} ${f})`);
    const make = (kind, attributes, text = "") => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
      Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
      made.textContent = text;
      return made;
    };
    const vertical = (data.log ? decades : roundNumbers)(...y).flatMap((v) => [
      make("path", { d: `M${LEFT} ${up(v)}H${RIGHT}` }),
      make("text", { x: LEFT - 6, y: up(v) + 4, class: "end" }, short(data.log ? 10 ** v : v)),
    ]);
    const horizontal = roundNumbers(...x).flatMap((v) => [
      make("path", { d: `M${across(v)} ${BOTTOM}v5` }),
      make("text", { x: across(v), y: BOTTOM + 18, class: "middle" }, short(v)),
    ]);
    chart.querySelector(".ticks").replaceChildren(...vertical, ...horizontal);
    chart.range = { x, across };
  }

  // Readouts: the numbers at one place of a chart, by pointer or by arrow keys.
  const number = (v) => {
    if (v === null) return "–";
    const small = v !== 0 && Math.abs(v) < 1e-3;
    return small ? v.toExponential(2) : v.toLocaleString("en", { maximumSignificantDigits: 4 });
  };
  const nearest = (steps, at) => {
    let low = 0, high = steps.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (steps[middle] <= at) low = middle; else high = middle;
    }
    return Math.abs(steps[high] - at) < Math.abs(steps[low] - at) ? high : low;
  };
  function read(chart, at) {
    const data = dataOf(chart), box = chart.querySelector(".readout"), cursor = chart.querySelector(".cursor");
    const found = visible(chart).map((trace) => {
      const [steps, centre, low, high] = data.lines[trace.dataset.group];
      const i = steps.length ? nearest(steps, at) : -1;
      if (i < 0 || at > steps[steps.length - 1] + (chart.range.x[1] - chart.range.x[0]) / 50) return null;
      return { trace, value: centre[i], low: low[i], high: high[i] };
    }).filter(Boolean).sort((a, b) => b.value - a.value);
    const line = (text, kind) => {
      const row = document.createElement("div"), words = document.createElement("span");
      words.textContent = text; // never as markup: names are anybody's
      if (kind) { const dot = document.createElement("i"); dot.className = kind; row.append(dot); }
      row.append(words);
      return row;
    };
    const rows = found.slice(0, MOST_LINES).map(({ trace, value, low, high }) => {
      const interval = low === null ? "" : ` [${number(low)}, ${number(high)}]`;
      const name = trace.querySelector("title").textContent.replace(/ \([^(]*\)$/, "");
      const colour = [...trace.classList].find((c) => /^c\d$/.test(c));
      return line(`${name}: ${number(value)}${interval}`, colour);
    });
    if (found.length > MOST_LINES) rows.push(line(`and ${found.length - MOST_LINES} more`));
    box.replaceChildren(line(`${data.label} ${number(at)}`), ...rows);
    const x = chart.range.across(at);
    cursor.setAttribute("d", `M${x} ${TOP}V${BOTTOM}`);
    cursor.removeAttribute("hidden");
    box.hidden = false;
    chart.dataset.at = at;
  }
  function close(chart) {
    chart.querySelector(".readout").hidden = true;
    chart.querySelector(".cursor").setAttribute("hidden", "");
  }
  // All steps of the visible curves, in order: where arrow keys stop.
  const stops = (chart) => {
    const data = dataOf(chart), steps = visible(chart).flatMap((t) => data.lines[t.dataset.group][0]);
    return [...new Set(steps)].sort((a, b) => a - b);
  };
  all(".chart").forEach((chart) => {
    chart.addEventListener("pointermove", (event) => {
      const [low, high] = chart.range.x, box = chart.querySelector("svg").getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * 420;
      const share = Math.min(1, Math.max(0, (x - LEFT) / (RIGHT - LEFT)));
      const places = stops(chart), at = low + share * (high - low);
      if (places.length) read(chart, places[nearest(places, at)]);
    });
    chart.addEventListener("pointerleave", () => close(chart));
    chart.addEventListener("blur", () => close(chart));
    chart.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") close(chart);
      if (!move) return;
      const places = stops(chart);
      if (!places.length) return;
      event.preventDefault();
      const known = chart.dataset.at === undefined ? (move > 0 ? -1 : places.length) : nearest(places, Number(chart.dataset.at));
      read(chart, places[Math.min(places.length - 1, Math.max(0, known + move))]);
    });
  });

  addEventListener("beforeprint", () => all("details").forEach((part) => { part.open = true; }));
})();
