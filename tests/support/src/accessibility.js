(() => {
  const found = [];
  const tell = (what, element) =>
    found.push(`${what}: ${element ? element.outerHTML.slice(0, 160).replace(/\s+/g, " ") : ""}`);
  const shown = (e) => {
    const style = getComputedStyle(e);
    return e.getClientRects().length > 0 && style.visibility !== "hidden" && style.display !== "none";
  };
  const byId = (ids) => (ids || "").split(/\s+/).filter(Boolean).map((id) => document.getElementById(id));
  const name = (e) => {
    const labelled = byId(e.getAttribute("aria-labelledby")).map((l) => (l ? l.textContent : "")).join(" ");
    const labels = e.labels ? [...e.labels].map((l) => l.textContent).join(" ") : "";
    const images = [...e.querySelectorAll("img[alt], svg[aria-label], svg title")];
    const inside = images.map((i) => i.getAttribute("alt") || i.getAttribute("aria-label") || i.textContent).join(" ");
    return [labelled, e.getAttribute("aria-label"), labels, e.textContent, inside, e.getAttribute("title"),
      e.type === "submit" || e.type === "button" ? e.value : ""].map((t) => (t || "").trim()).find(Boolean);
  };

  if (!document.documentElement.lang) tell("the page names no language");
  if (!document.title.trim()) tell("the page has no title");
  if (document.querySelectorAll("main").length !== 1) tell("the page has not exactly one <main>");
  if (!document.querySelector('meta[name="viewport"]')) tell("the page has no viewport for phones");

  const ids = new Map();
  for (const e of document.querySelectorAll("[id]")) ids.set(e.id, (ids.get(e.id) || 0) + 1);
  for (const [id, count] of ids) if (count > 1) tell(`the id ${id} is there ${count} times`);

  for (const e of document.querySelectorAll("a[href], button, select, textarea, input:not([type=hidden]), summary"))
    if (shown(e) && !name(e)) tell("a control has no name", e);
  for (const e of document.querySelectorAll("img")) if (!e.hasAttribute("alt")) tell("a picture has no text", e);
  for (const e of document.querySelectorAll("svg"))
    if (shown(e) && e.getAttribute("aria-hidden") !== "true" && !e.closest("[aria-hidden=true]") &&
        !(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.querySelector(":scope > title")) &&
        !(e.closest("a, button") && name(e.closest("a, button"))))
      tell("a chart has no name", e);
  for (const attribute of ["aria-labelledby", "aria-describedby", "aria-controls"])
    for (const e of document.querySelectorAll(`[${attribute}]`))
      if (byId(e.getAttribute(attribute)).includes(null)) tell(`${attribute} names nothing`, e);
  for (const e of document.querySelectorAll("[tabindex]"))
    if (e.tabIndex > 0) tell("the order of focus is changed", e);
  for (const e of document.querySelectorAll("[onclick], [role=button]"))
    if (!e.matches("a[href], button, summary, input") && e.tabIndex < 0) tell("the keyboard cannot reach it", e);
  for (const e of document.querySelectorAll("table"))
    if (shown(e) && e.rows.length > 1 && !e.querySelector("th")) tell("a table has no headings", e);

  const headings = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter(shown);
  if (headings.filter((h) => h.tagName === "H1").length !== 1) tell("the page has not exactly one first heading");
  let level = 0;
  for (const h of headings) {
    const own = Number(h.tagName[1]);
    if (own > level + 1) tell(`a heading of level ${own} comes after one of level ${level}`, h);
    level = own;
  }

  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = (c) => {
    const part = (v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);
  };
  const ground = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.backgroundImage !== "none") return null;
      layers.push(rgba(style.backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    const dark = matchMedia("(prefers-color-scheme: dark)").matches && getComputedStyle(document.documentElement).colorScheme.includes("dark");
    return layers.reverse().reduce((below, top) => over(top, below), dark ? [18, 18, 18, 1] : [255, 255, 255, 1]);
  };
  const seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || seen.has(e) || !shown(e)) continue;
    seen.add(e);
    if (e.closest("svg, script, style, [aria-hidden=true], :disabled")) continue;
    const style = getComputedStyle(e);
    const below = ground(e);
    if (!below || Number(style.opacity) === 0) continue;
    const text = over(rgba(style.color), below);
    const [a, b] = [light(text), light(below)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) tell(`text has a contrast of ${ratio.toFixed(2)}`, e);
  }
  if (document.documentElement.scrollWidth > innerWidth + 1)
    tell(`the page is ${document.documentElement.scrollWidth} wide on a screen of ${innerWidth}`);
  return found;
})()
