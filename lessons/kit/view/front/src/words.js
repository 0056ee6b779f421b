// A sentence of the page, in the language of the book that it stands in; in a notebook, English. {0}, {1} … are the values.
// `tools/book/translating.py` finds the sentences by the name of this function.
export const say = (text, ...values) => (globalThis.weightspaceWords?.[text] ?? text).replace(/\{(\d)\}/g, (_, place) => values[place]);
