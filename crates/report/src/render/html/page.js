"use strict";
(() => {
  const root = document.documentElement;

  // Numbers for people, as the program itself writes them.
  const significant = (f) => {
    const size = Math.abs(f);
    return f.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3);
  };
  const scaled = (number, units) => {
    let unit = 0;
    while (Math.abs(number) >= 999.95 && unit + 1 < units.length) { number /= 1000; unit++; }
    if (unit === 0 && Number.isInteger(number)) return `${number} ${units[0]}`;
    return `${significant(number)} ${units[unit]}`;
  };
  const grouped = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  const show = (value, unit) => {
    if (typeof value === "string") return value;
    switch (unit) {
      case "ns": return scaled(value, ["ns", "µs", "ms", "s"]);
      case "bytes": return scaled(value, ["B", "kB", "MB", "GB", "TB"]);
      case "pct": return `${value.toFixed(value !== 0 && Math.abs(value) < 0.05 ? 2 : 1)} %`;
      case "exact": return String(value);
      default: return Number.isInteger(value) && unit === "" ? grouped(value) : significant(value);
    }
  };

  // What is seen is part of the address, so that a view can be kept and passed on.
  const state = new URLSearchParams();
  const remember = () => {
    const text = state.toString();
    try { history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search); } catch { /* a frame may forbid it */ }
  };
  const recall = () => {
    for (const key of [...state.keys()]) state.delete(key);
    if (!location.hash.includes("=")) return;
    for (const [key, value] of new URLSearchParams(location.hash.slice(1))) state.set(key, value);
  };

  // Light and dark.
  const themes = () => {
    let theme = state.get("theme");
    if (!theme) try { theme = localStorage.getItem("rocm-perf-theme"); } catch { /* files may have no storage */ }
    if (theme === "dark" || theme === "light") root.dataset.theme = theme; else delete root.dataset.theme;
  };
  document.getElementById("theme").addEventListener("click", () => {
    const dark = getComputedStyle(root).colorScheme.includes("dark");
    root.dataset.theme = dark ? "light" : "dark";
    state.delete("theme");
    try { localStorage.setItem("rocm-perf-theme", root.dataset.theme); } catch { /* it is kept until the page closes */ }
    remember();
  });

  // Pointing.
  const tip = document.getElementById("tip");
  const tell = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(x + 14, innerWidth - box.width - 8);
    const top = y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${Math.max(8, top)}px`;
  };
  addEventListener("pointermove", (event) => {
    const at = event.target instanceof Element ? event.target : null;
    const tipped = at && at.closest("[data-tip]");
    if (tipped) return tell(tipped.dataset.tip, event.clientX, event.clientY);
    const cell = at && at.closest("td");
    if (cell && cell.scrollWidth > cell.clientWidth) return tell(cell.textContent, event.clientX, event.clientY);
    tip.hidden = true;
  });
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // Tables.
  const element = (name, properties, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  class Table {
    constructor(box) {
      this.box = box;
      this.name = box.id;
      this.body = box.querySelector("tbody");
      this.heads = [...box.querySelectorAll("th")];
      this.count = box.querySelector(".count");
      this.whole = this.count.textContent;
      this.filter = element("input", { type: "search", placeholder: "filter", ariaLabel: "filter rows" });
      const csv = element("button", { type: "button", textContent: "CSV", title: "save all rows as CSV" });
      box.querySelector(".bar").append(element("div", { className: "tools" }, this.filter, csv));
      this.back = element("button", { type: "button", textContent: "‹", ariaLabel: "page before" });
      this.next = element("button", { type: "button", textContent: "›", ariaLabel: "next page" });
      this.place = element("span");
      this.size = element("select", { ariaLabel: "rows of a page" });
      for (const rows of [20, 50, 100, 500]) this.size.append(element("option", { value: rows, textContent: `${rows} rows` }));
      this.pages = element("div", { className: "pages" }, this.size, this.place, this.back, this.next);
      box.querySelector(".scroll").after(this.pages);
      this.heads.forEach((head) => {
        head.setAttribute("role", "button");
        head.tabIndex = 0;
        const sort = () => this.sortBy(head.dataset.key);
        head.addEventListener("click", sort);
        head.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); } });
      });
      this.filter.addEventListener("input", () => this.change({ q: this.filter.value, page: "" }));
      this.size.addEventListener("change", () => this.change({ rows: this.size.value === "20" ? "" : this.size.value, page: "" }));
      this.back.addEventListener("click", () => this.change({ page: String(this.page - 1) }));
      this.next.addEventListener("click", () => this.change({ page: String(this.page + 1) }));
      this.body.addEventListener("click", (event) => {
        const cell = event.target.closest("td");
        if (!cell || String(getSelection())) return;
        const { tip } = cell.dataset;
        if (cell.classList.toggle("open") && tip && !cell.classList.contains("n")) {
          [cell.short, cell.textContent] = [cell.textContent, tip];
        } else if (cell.short) {
          [cell.textContent, cell.short] = [cell.short, ""];
        }
      });
      csv.addEventListener("click", () => this.save());
      this.update();
    }

    // Rows are read from the page's data when they are first needed, so that opening the page stays quick.
    get data() {
      return (this.read ??= JSON.parse(this.box.querySelector("script").textContent));
    }

    get(key) { return state.get(`${this.name}.${key}`) ?? ""; }

    change(values) {
      for (const [key, value] of Object.entries(values)) {
        const name = `${this.name}.${key}`;
        if (value) state.set(name, value); else state.delete(name);
      }
      remember();
      this.update();
    }

    sortBy(key) {
      const column = this.data.columns.find((column) => column.key === key);
      if (!column) return;
      const first = column.text ? "asc" : "desc";
      const again = this.get("sort") === key;
      const now = this.get("dir") || first;
      this.change({ sort: key, dir: again ? (now === "asc" ? "desc" : "asc") : first, page: "" });
    }

    /// Numbers of the rows to show, in order.
    rows() {
      const { columns } = this.data;
      const rows = columns.length ? columns[0].cells.length : 0;
      let chosen = Array.from({ length: rows }, (_, row) => row);
      const words = this.get("q").toLowerCase().split(/\s+/).filter(Boolean);
      if (words.length) {
        const texts = columns.filter((column) => column.text);
        chosen = chosen.filter((row) => {
          const text = texts.map((column) => `${column.cells[row]}\n${column.short?.[row] ?? ""}`).join("\n").toLowerCase();
          return words.every((word) => text.includes(word));
        });
      }
      const column = columns.find((column) => column.key === this.get("sort"));
      if (column) {
        const sign = (this.get("dir") || (column.text ? "asc" : "desc")) === "asc" ? 1 : -1;
        const absent = (cell) => cell === null || Array.isArray(cell);
        chosen.sort((a, b) => {
          const [x, y] = [column.cells[a], column.cells[b]];
          if (absent(x) || absent(y)) return absent(x) - absent(y) || a - b;
          const order = typeof x === "string" || typeof y === "string" ? (String(x) < String(y) ? -1 : String(x) > String(y) ? 1 : 0) : x - y;
          return sign * order || a - b;
        });
      }
      return chosen;
    }

    update() {
      const touched = ["q", "sort", "page", "rows"].some((key) => this.get(key)) || this.read;
      const size = Number(this.get("rows")) || 20;
      this.page = Math.max(1, Number(this.get("page")) || 1);
      this.filter.value = this.get("q");
      this.size.value = String(size);
      const total = Number(this.whole.replace(/\D/g, ""));
      this.pages.hidden = !touched && total <= size;
      this.box.querySelector(".tools").hidden = total < 2;
      if (!touched) {
        this.place.textContent = `1–${Math.min(size, total)} of ${grouped(total)}`;
        this.back.disabled = true;
        this.next.disabled = total <= size;
        return;
      }
      const rows = this.rows();
      this.page = Math.min(this.page, Math.max(1, Math.ceil(rows.length / size)));
      const from = (this.page - 1) * size;
      const seen = rows.slice(from, from + size);
      this.body.replaceChildren(...seen.map((row) => this.row(row)));
      if (!seen.length) {
        this.body.append(element("tr", {}, element("td", { className: "none", colSpan: this.heads.length, textContent: "no row matches" })));
      }
      this.count.textContent = this.get("q") ? `${grouped(rows.length)} of ${this.whole}` : this.whole;
      this.place.textContent = seen.length ? `${grouped(from + 1)}–${grouped(from + seen.length)} of ${grouped(rows.length)}` : "";
      this.back.disabled = this.page <= 1;
      this.next.disabled = from + size >= rows.length;
      this.pages.hidden = rows.length <= size && size === 20;
      for (const head of this.heads) {
        const column = this.data.columns.find((column) => column.key === head.dataset.key);
        if (head.dataset.key !== this.get("sort")) head.removeAttribute("aria-sort");
        else head.setAttribute("aria-sort", (this.get("dir") || (column.text ? "asc" : "desc")) === "asc" ? "ascending" : "descending");
      }
    }

    row(row) {
      const line = element("tr");
      for (const column of this.data.columns) {
        const value = column.cells[row];
        const cell = element("td");
        if (value === null || Array.isArray(value)) {
          cell.className = "n";
          cell.textContent = "–";
          if (value) cell.dataset.tip = this.data.reasons[value[0]];
        } else {
          const short = column.short?.[row];
          cell.textContent = short ?? show(value, column.unit);
          if (short) cell.dataset.tip = value;
          if (!column.text) cell.className = "n";
          if (!column.text && column.unit === "pct") {
            cell.className = "n p";
            cell.style.setProperty("--p", Math.min(100, Math.max(0, value)).toFixed(1));
          }
        }
        line.append(cell);
      }
      return line;
    }

    save() {
      const quoted = (value) => {
        const text = value === null || Array.isArray(value) ? "" : String(value);
        return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
      };
      const { columns } = this.data;
      const lines = [columns.map((column) => quoted(column.key)).join(",")];
      for (const row of this.rows()) lines.push(columns.map((column) => quoted(column.cells[row])).join(","));
      const address = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
      element("a", { href: address, download: `${this.name}.csv` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    }
  }

  recall();
  themes();
  const tables = [...document.querySelectorAll(".table")].map((box) => new Table(box));
  addEventListener("hashchange", () => {
    if (location.hash && !location.hash.includes("=")) return;
    recall();
    themes();
    tables.forEach((table) => table.update());
  });
  // Links to sections must not lose what is seen of the tables.
  document.querySelector("nav").addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link) return;
    event.preventDefault();
    document.getElementById(link.hash.slice(1)).scrollIntoView();
  });
})();
