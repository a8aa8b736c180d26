// What the console does beyond its forms and links: local times, keys, charts, news. Every page works without it.
(() => {
  "use strict";

  const language = document.documentElement.lang;
  const times = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });

  /** Show times in the zone of the reader; the title keeps the exact moment. */
  function localTimes(root) {
    for (const each of root.querySelectorAll("time[datetime]:not([title])")) {
      const moment = new Date(each.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      each.title = each.dateTime;
      each.textContent = times.format(moment);
    }
  }

  /** Draw a table with the class `series` as a chart before it. The first column is a time or a number. */
  function charts(root) {
    if (!window.uPlot) return;
    for (const place of root.querySelectorAll(".chart[data-table]:not([data-drawn])")) {
      const table = document.getElementById(place.dataset.table);
      if (!table) continue;
      place.dataset.drawn = "yes";
      const rows = [...table.tBodies[0].rows];
      if (rows.length < 2) continue;
      const value = (cell) => Number(cell.dataset.value ?? cell.textContent.replaceAll(",", ""));
      const columns = [...table.tHead.rows[0].cells].map((head, index) => ({
        label: head.textContent,
        values: rows.map((row) => value(row.cells[index])),
      }));
      const style = getComputedStyle(document.documentElement);
      const color = (name) => style.getPropertyValue(name).trim();
      const axis = { stroke: color("--faint"), grid: { stroke: color("--line"), width: 1 } };
      const colors = [color("--series"), color("--good"), color("--bad")];
      const options = {
        width: place.clientWidth || 600,
        height: 220,
        scales: { x: { time: place.dataset.time === "yes" }, y: { range: (_u, low, high) => [Math.min(0, low), high || 1] } },
        axes: [axis, { ...axis, size: 60 }],
        series: columns.map((column, index) =>
          index === 0
            ? { label: column.label }
            : { label: column.label, stroke: colors[(index - 1) % colors.length], width: 2, points: { show: rows.length < 40 } }),
      };
      const chart = new window.uPlot(options, columns.map((column) => column.values), place);
      new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: 220 })).observe(place);
    }
  }

  /** Listen to changes of the memory, and load the parts again that show them. */
  function live() {
    const parts = document.querySelectorAll("[data-live]");
    if (!parts.length || !window.EventSource) return;
    const source = new EventSource("/console/changes/events");
    let waiting = false;
    source.addEventListener("changed", () => {
      if (waiting) return;
      waiting = true;
      setTimeout(() => {
        waiting = false;
        for (const each of document.querySelectorAll("[data-live]")) each.dispatchEvent(new CustomEvent("changed"));
      }, 300);
    });
    window.addEventListener("pagehide", () => source.close());
  }

  // --- keys ---

  const items = () => [...document.querySelectorAll(".item")].filter((each) => each.offsetParent !== null);

  function move(step) {
    const all = items();
    if (!all.length) return;
    const place = all.findIndex((each) => each.classList.contains("selected"));
    const next = all[Math.max(0, Math.min(all.length - 1, place < 0 ? (step > 0 ? 0 : all.length - 1) : place + step))];
    for (const each of all) each.classList.toggle("selected", each === next);
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (typing) {
      if (event.key === "Escape") typing.blur();
      return;
    }
    const help = document.getElementById("keyboard");
    if (event.key === "?") {
      if (help.open) help.close();
      else help.showModal();
    } else if (help && help.open) {
      return;
    } else if (event.key === "/") {
      const field = document.getElementById("q") || document.getElementById("quick");
      if (!field) return;
      field.focus();
      field.select();
    } else if (event.key === "j") {
      move(1);
    } else if (event.key === "k") {
      move(-1);
    } else if (event.key === "Enter" && event.target.classList.contains("item")) {
      const link = event.target.querySelector("a.open");
      if (!link) return;
      link.click();
    } else {
      return;
    }
    event.preventDefault();
  });

  function begin(root) {
    localTimes(root);
    charts(root);
  }

  document.addEventListener("DOMContentLoaded", () => {
    // On a phone the navigation is wider than the window: show the part with the present page.
    const bar = document.querySelector("nav.main");
    const present = bar && bar.querySelector("[aria-current]");
    if (present) bar.scrollLeft = present.offsetLeft + present.offsetWidth / 2 - bar.clientWidth / 2;
    begin(document);
    live();
    // What is being computed is there in a moment.
    if (document.querySelector("[data-reload]")) setTimeout(() => location.reload(), 2000);
  });
  document.addEventListener("htmx:after:swap", () => begin(document));
})();
