// Elements by name, attributes and children; a function as an attribute named "on…" listens.
const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const h = (name, attributes, ...children) => filled(document.createElement(name), attributes, children);
export const s = (name, attributes, ...children) => filled(document.createElementNS(SVG, name), attributes, children);

// The form of a role: A is a circle, B a square, what was merged a diamond.
const CIRCLE = (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
const FORMS = {
  b: (r) => `M${-0.88 * r} ${-0.88 * r}h${1.76 * r}v${1.76 * r}h${-1.76 * r}Z`,
  merged: (r) => `M0 ${-1.22 * r}L${1.22 * r} 0L0 ${1.22 * r}L${-1.22 * r} 0Z`,
};
export const form = (role, r) => (FORMS[role] ?? CIRCLE)(r);
export const star = (r) => `M${Array.from({ length: 10 }, (_, i) => {
  const [reach, turn] = [i % 2 ? 0.45 * r : r, Math.PI * (i / 5 - 0.5)];
  return `${(reach * Math.cos(turn)).toFixed(2)} ${(reach * Math.sin(turn)).toFixed(2)}`;
}).join("L")}Z`;
