// What everybody must be able to use, looked for in the page that is shown. Returns one line for each thing that is wrong.
const findings = [];
const shown = (element) => element.checkVisibility() && element.getClientRects().length > 0;
const named = (element) => element.outerHTML.slice(0, 100);
const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);

// Names, ids, structure.
for (const input of all("input:not([type=hidden])")) {
  if (![...input.labels].some((label) => label.textContent.trim())) findings.push(`no label: ${named(input)}`);
  if (input.type === "checkbox") continue;
  if (!input.autocomplete) findings.push(`no autocomplete: ${named(input)}`);
  if (parseFloat(getComputedStyle(input).fontSize) < 16) findings.push(`smaller than 16 px: ${named(input)}`);
}
for (const element of all("a, button")) {
  if (!(element.ariaLabel || element.textContent).trim()) findings.push(`no name: ${named(element)}`);
}
for (const attribute of ["aria-describedby", "aria-controls", "for"]) {
  for (const element of document.querySelectorAll(`[${attribute}]`)) {
    for (const id of element.getAttribute(attribute).split(" ")) {
      if (!document.getElementById(id)) findings.push(`${attribute} names nothing: ${named(element)}`);
    }
  }
}
const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
for (const id of ids.filter((id, index) => ids.indexOf(id) !== index)) findings.push(`id twice: ${id}`);
if (all("h1").length !== 1) findings.push(`${all("h1").length} headings`);
if (all("main").length !== 1) findings.push("no single main part");
if (!document.title.includes(" · ")) findings.push(`title: ${document.title}`);

// Room.
const root = document.documentElement;
if (root.scrollWidth > root.clientWidth) findings.push(`${root.scrollWidth} px wide on ${root.clientWidth}`);
for (const element of all("button, a, input:not([type=hidden]):not([type=checkbox]), label.check")) {
  const { width, height } = element.getBoundingClientRect();
  const least = element.matches(".primary, input, .check") ? 44 : 24;
  if (height < least || width < 24) findings.push(`${width} x ${height} px: ${named(element)}`);
}

// Contrast.
const parse = (color) => {
  const numbers = color.match(/[\d.]+/g).map(Number);
  return numbers.length < 4 ? [...numbers, 1] : numbers;
};
const luminance = (color) => {
  const [r, g, b] = color.slice(0, 3).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const color = parse(getComputedStyle(at).backgroundColor);
    if (color[3] === 1) return color;
  }
  return [255, 255, 255, 1];
};
const contrast = (a, b) => {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
};
for (const element of all("body *")) {
  const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  if (!hasText || element.closest(":disabled, svg")) continue;
  const ratio = contrast(parse(getComputedStyle(element).color), ground(element));
  if (ratio < 4.5) findings.push(`contrast ${ratio.toFixed(2)}: ${named(element)}`);
}
for (const input of all("input:not([type=checkbox])")) {
  const ratio = contrast(parse(getComputedStyle(input).borderTopColor), ground(input.parentElement));
  if (ratio < 3) findings.push(`border contrast ${ratio.toFixed(2)}: ${named(input)}`);
}
return findings;
