"use strict";
// Everything works without this; it adds tips, zoom, live progress, a theme to choose and "open in Perfetto".
(() => {
  const root = document.documentElement;
  const make = (name, properties, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  // Light and dark.
  const stored = () => { try { return localStorage.getItem("rocm-perf-theme"); } catch { return null; } };
  const theme = stored();
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;
  const toggle = document.getElementById("theme");
  if (toggle) {
    toggle.hidden = false;
    toggle.addEventListener("click", () => {
      root.dataset.theme = getComputedStyle(root).colorScheme.includes("dark") ? "light" : "dark";
      try { localStorage.setItem("rocm-perf-theme", root.dataset.theme); } catch { /* it lasts until the page closes */ }
    });
  }

  // Times in the reader's own zone.
  for (const time of document.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.title = at.toLocaleString();
  }

  // Tips.
  const tip = make("div", { id: "tip", hidden: true });
  tip.setAttribute("role", "tooltip");
  document.body.append(tip);
  const tell = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const top = y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18;
    tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${Math.max(8, top)}px`;
  };
  addEventListener("pointermove", (event) => {
    const at = event.target instanceof Element ? event.target : null;
    const tipped = at && at.closest("[data-tip]");
    if (tipped && tipped.dataset.tip) return tell(tipped.dataset.tip, event.clientX, event.clientY);
    const cell = at && at.closest("td.cut");
    if (cell && cell.scrollWidth > cell.clientWidth) return tell(cell.textContent, event.clientX, event.clientY);
    tip.hidden = true;
  });
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // Filters apply as they are chosen.
  for (const select of document.querySelectorAll("form.filters:not(.pick) select")) {
    select.addEventListener("change", () => select.form.requestSubmit());
  }

  // Zoom of timelines and flame graphs: buttons, the wheel with Ctrl, and dragging.
  for (const figure of document.querySelectorAll("figure.zoom")) {
    const svg = figure.querySelector("svg");
    if (!svg) continue;
    const [x0, y0, w0, h0] = svg.getAttribute("viewBox").split(" ").map(Number);
    let [x, w] = [x0, w0];
    svg.setAttribute("preserveAspectRatio", "none");
    const show = () => {
      w = Math.min(w0, Math.max(w0 / 400, w));
      x = Math.min(x0 + w0 - w, Math.max(x0, x));
      svg.setAttribute("viewBox", `${x} ${y0} ${w} ${h0}`);
    };
    const height = svg.getBoundingClientRect().height;
    const by = (factor, middle = 0.5) => { const at = x + w * middle; w *= factor; x = at - w * middle; show(); };
    const button = (text, label, act) => {
      const made = make("button", { type: "button", textContent: text });
      made.setAttribute("aria-label", label);
      made.addEventListener("click", act);
      return made;
    };
    const tools = make("div", { className: "zoom-tools" },
      button("+", "zoom in", () => by(0.5)), button("−", "zoom out", () => by(2)),
      button("‹", "move left", () => { x -= w / 4; show(); }), button("›", "move right", () => { x += w / 4; show(); }),
      button("whole", "show the whole chart", () => { x = x0; w = w0; show(); }));
    figure.querySelector(".frame").before(tools);
    svg.style.height = `${height}px`;
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = svg.getBoundingClientRect();
      by(event.deltaY > 0 ? 1.25 : 0.8, (event.clientX - box.left) / box.width);
    }, { passive: false });
    let from = null;
    svg.addEventListener("pointerdown", (event) => { from = event.clientX; svg.setPointerCapture(event.pointerId); });
    svg.addEventListener("pointerup", () => { from = null; });
    svg.addEventListener("pointermove", (event) => {
      if (from === null || w === w0) return;
      x -= (event.clientX - from) / svg.getBoundingClientRect().width * w;
      from = event.clientX;
      show();
    });
  }

  // A trace goes from this server through this page to the Perfetto UI; nobody else sees it.
  const UI = "https://ui.perfetto.dev";
  for (const link of document.querySelectorAll("a[data-perfetto]")) {
    link.hidden = false;
    link.addEventListener("click", async (event) => {
      event.preventDefault();
      const opened = open(UI);
      if (!opened) return;
      const was = link.textContent;
      link.textContent = "loading …";
      try {
        const response = await fetch(link.href);
        if (!response.ok) throw new Error(`status ${response.status}`);
        const buffer = await response.arrayBuffer();
        const ping = setInterval(() => opened.postMessage("PING", UI), 100);
        const answered = (answer) => {
          if (answer.origin !== UI || answer.data !== "PONG") return;
          clearInterval(ping);
          removeEventListener("message", answered);
          opened.postMessage({ perfetto: { buffer, title: link.dataset.perfetto } }, UI, [buffer]);
          link.textContent = was;
        };
        addEventListener("message", answered);
      } catch (error) {
        opened.close();
        link.textContent = `could not load: ${error.message}`;
      }
    });
  }

  // Live runs.
  const live = document.getElementById("live");
  if (live && "EventSource" in window) {
    const note = document.getElementById("live-note");
    const source = new EventSource("/live/events");
    source.onopen = () => { if (note) note.textContent = "updated as runs report"; };
    source.onerror = () => { if (note) note.textContent = "connection lost; trying again"; };
    source.onmessage = (event) => {
      const run = JSON.parse(event.data);
      const id = `run-${run.experiment}/${run.trial}/${run.kind}`;
      let card = document.getElementById(id);
      if (!card) { location.reload(); return; }
      const set = (name, text) => { card.querySelector(`[data-part=${name}]`).textContent = text; };
      set("state", run.state);
      set("message", run.message);
      set("steps", run.total === null ? `${run.done}` : `${run.done} of ${run.total}`);
      set("at", run.at.slice(0, 16).replace("T", " "));
      card.querySelector("[data-part=state]").className = run.state === "running" ? "chip live" : "chip";
      const bar = card.querySelector("progress");
      if (run.total === null && run.state === "running") bar.removeAttribute("value");
      else { bar.max = Math.max(1, run.total ?? run.done); bar.value = run.done; }
    };
  }
})();
