// The map of memories: drawn on a canvas, moved by pointer, wheel, touch and keys. The list below it needs no script.
(() => {
  "use strict";

  const NEAR = 12;
  const CELL = 0.02;
  const LABELLED = 60;

  function start(root) {
    const canvas = root.querySelector("canvas");
    const tip = root.querySelector(".map-tip");
    const pen = canvas.getContext("2d");
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    let data = { points: [], ids: [], labels: [], groups: [] };
    let grid = new Map();
    let view = { x: 0, y: 0, zoom: 1 };
    let hovered = -1;
    let asked = false;

    const hue = (group) => (group * 137.5 + 205) % 360;
    const colour = (group) => `hsl(${hue(group)} 65% ${dark.matches ? 65 : 40}%)`;

    function size() {
      const ratio = window.devicePixelRatio || 1;
      const { width, height } = canvas.getBoundingClientRect();
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      draw();
    }

    // The axes have no common unit: each fills the canvas.
    const across = () => (canvas.clientWidth / 2.2) * view.zoom;
    const down = () => (canvas.clientHeight / 2.2) * view.zoom;
    const toScreen = (x, y) => [canvas.clientWidth / 2 + (x - view.x) * across(), canvas.clientHeight / 2 - (y - view.y) * down()];
    const toMap = (x, y) => [(x - canvas.clientWidth / 2) / across() + view.x, view.y - (y - canvas.clientHeight / 2) / down()];

    /** Draw once in the next frame, however often it is asked for. */
    function draw() {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        paint();
      });
    }

    function paint() {
      const width = canvas.clientWidth;
      const height = canvas.clientHeight;
      pen.clearRect(0, 0, width, height);
      const many = data.points.length > 2000;
      const side = Math.max(2, Math.min(12, (many ? 2.5 : 9) * Math.sqrt(view.zoom)));
      const shown = [];
      let last = -1;
      for (const index of data.order) {
        const [x, y, group] = data.points[index];
        const [left, top] = toScreen(x, y);
        if (left < -side || top < -side || left > width + side || top > height + side) continue;
        if (group !== last) {
          pen.fillStyle = colour(group);
          last = group;
        }
        shown.push(index);
        if (many) {
          pen.fillRect(left - side / 2, top - side / 2, side, side);
        } else {
          pen.beginPath();
          pen.arc(left, top, side / 2, 0, 2 * Math.PI);
          pen.fill();
        }
      }
      const taken = [];
      names(width, height, taken);
      if (shown.length <= LABELLED) labels(shown, side, taken);
      if (hovered >= 0) {
        const [left, top] = toScreen(data.points[hovered][0], data.points[hovered][1]);
        pen.strokeStyle = dark.matches ? "#fff" : "#000";
        pen.lineWidth = 2;
        pen.strokeRect(left - side / 2 - 3, top - side / 2 - 3, side + 6, side + 6);
      }
    }

    const free = (taken, x, y, half) => !taken.some((each) => Math.abs(each.y - y) < 17 && Math.abs(each.x - x) < each.half + half + 4);

    /** What the few points in view are called, where there is room. */
    function labels(shown, side, taken) {
      pen.font = "12px system-ui, sans-serif";
      for (const index of shown) {
        const [x, y] = toScreen(data.points[index][0], data.points[index][1]);
        const half = pen.measureText(data.labels[index]).width / 2;
        const top = y + side / 2 + 14;
        if (!free(taken, x, top, half)) continue;
        taken.push({ x, y: top, half });
        pen.fillStyle = dark.matches ? "#a3b0bc" : "#55636f";
        pen.fillText(data.labels[index], x, top);
      }
    }

    /** The words of each group, in its middle. */
    function names(width, height, taken) {
      pen.font = "600 13px system-ui, sans-serif";
      pen.textAlign = "center";
      pen.lineWidth = 4;
      pen.strokeStyle = dark.matches ? "#171d23" : "#fff";
      data.groups.forEach((name, group) => {
        if (!data.middles[group]) return;
        const [x, y] = toScreen(...data.middles[group]);
        const half = pen.measureText(name).width / 2;
        const left = Math.max(half + 4, Math.min(width - half - 4, x));
        if (x < 0 || y < 0 || x > width || y > height) return;
        if (!free(taken, left, y, half)) return;
        taken.push({ x: left, y, half });
        pen.strokeText(name, left, y);
        pen.fillStyle = dark.matches ? "#e4e9ee" : "#1b2733";
        pen.fillText(name, left, y);
      });
    }

    const cell = (x, y) => `${Math.floor(x / CELL)},${Math.floor(y / CELL)}`;

    /** The point that is nearest to a place on the screen, or -1. */
    function nearest(left, top) {
      const [x, y] = toMap(left, top);
      const reach = Math.min(40, Math.ceil(NEAR / Math.min(across(), down()) / CELL));
      let best = -1;
      let distance = NEAR * NEAR;
      const column = Math.floor(x / CELL);
      const row = Math.floor(y / CELL);
      for (let i = column - reach; i <= column + reach; i += 1) {
        for (let j = row - reach; j <= row + reach; j += 1) {
          for (const index of grid.get(`${i},${j}`) || []) {
            const [px, py] = toScreen(data.points[index][0], data.points[index][1]);
            const far = (px - left) ** 2 + (py - top) ** 2;
            if (far < distance) {
              best = index;
              distance = far;
            }
          }
        }
      }
      return best;
    }

    function point(index) {
      if (index === hovered) return;
      hovered = index;
      canvas.style.cursor = index >= 0 ? "pointer" : "grab";
      tip.classList.toggle("hidden", index < 0);
      if (index >= 0) {
        const [x, y] = toScreen(data.points[index][0], data.points[index][1]);
        tip.textContent = data.labels[index];
        tip.style.insetInlineStart = `${Math.max(0, Math.min(canvas.clientWidth - 260, x + 12))}px`;
        tip.style.top = `${Math.max(0, y - 36)}px`;
      }
      draw();
    }

    function zoom(factor, left = canvas.clientWidth / 2, top = canvas.clientHeight / 2) {
      const before = toMap(left, top);
      view.zoom = Math.max(0.5, Math.min(60, view.zoom * factor));
      const after = toMap(left, top);
      view.x += before[0] - after[0];
      view.y += before[1] - after[1];
      point(-1);
      draw();
    }

    function open(index) {
      if (index >= 0) window.location.assign(`/console/entries/${encodeURIComponent(data.ids[index])}`);
    }

    // One pointer moves, two zoom; a press that did not move opens what is below it.
    const pressed = new Map();
    let moved = 0;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const spread = () => {
      const [a, b] = [...pressed.values()];
      return Math.hypot(a.x - b.x, a.y - b.y);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pressed.set(event.pointerId, place(event));
      if (pressed.size === 1) moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = place(event);
      const before = pressed.get(event.pointerId);
      if (!before) {
        point(nearest(now.x, now.y));
        return;
      }
      moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
      if (pressed.size === 2) {
        const wide = spread();
        pressed.set(event.pointerId, now);
        if (wide > 0) zoom(spread() / wide, now.x, now.y);
        return;
      }
      pressed.set(event.pointerId, now);
      view.x -= (now.x - before.x) / across();
      view.y += (now.y - before.y) / down();
      point(-1);
      draw();
    });
    const release = (event) => {
      const now = place(event);
      const single = pressed.size === 1;
      pressed.delete(event.pointerId);
      if (event.type === "pointerup" && single && moved < 6) open(nearest(now.x, now.y));
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => point(-1));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const now = place(event);
      zoom(Math.exp(-event.deltaY / 400), now.x, now.y);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = 0.15 / view.zoom;
      const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
      if (moves[event.key]) {
        view.x += moves[event.key][0];
        view.y += moves[event.key][1];
        point(-1);
        draw();
      } else if (event.key === "+" || event.key === "=") zoom(1.5);
      else if (event.key === "-") zoom(1 / 1.5);
      else if (event.key === "0") whole();
      else return;
      event.preventDefault();
    });
    function whole() {
      view = { x: 0, y: 0, zoom: 1 };
      point(-1);
      draw();
    }
    for (const button of root.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => (Number(button.dataset.zoom) ? zoom(Number(button.dataset.zoom)) : whole()));
    }
    dark.addEventListener("change", () => {
      legend();
      draw();
    });

    /** The dots of the list in the colours of the map. */
    function legend() {
      for (const each of document.querySelectorAll("[data-group]")) {
        each.querySelector("circle").setAttribute("fill", colour(Number(each.dataset.group)));
      }
    }

    fetch(root.dataset.map, { headers: { Accept: "application/json" } })
      .then((answer) => (answer.ok ? answer.json() : null))
      .then((found) => {
        if (!found) return;
        data = { ...found, points: found.points.map(([x, y, group]) => [x / 1000, y / 1000, group]) };
        data.order = data.points.map((_, index) => index).sort((a, b) => data.points[a][2] - data.points[b][2]);
        data.middles = data.groups.map((_, group) => {
          const own = data.points.filter((each) => each[2] === group);
          return own.length ? [own.reduce((sum, each) => sum + each[0], 0) / own.length, own.reduce((sum, each) => sum + each[1], 0) / own.length] : null;
        });
        grid = new Map();
        data.points.forEach(([x, y], index) => {
          const name = cell(x, y);
          if (grid.has(name)) grid.get(name).push(index);
          else grid.set(name, [index]);
        });
        root.classList.remove("hidden");
        root.dataset.drawn = String(data.points.length);
        legend();
        new ResizeObserver(size).observe(canvas);
      })
      .catch(() => {});
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const root of document.querySelectorAll("[data-map]")) start(root);
  });
})();
