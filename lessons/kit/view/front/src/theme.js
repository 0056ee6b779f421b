// A host wears the theme that JupyterLab says, or the book, whose theme stands at the root of its pages; elsewhere it wears
// that of the reader's system. Returns what ends it.
export function followTheme(host) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const dress = () => {
    const said = document.body.dataset.jpThemeLight;
    const ofBook = document.documentElement.dataset.theme;
    if (said) host.dataset.theme = said === "false" ? "dark" : "light";
    else host.dataset.theme = ["dark", "light"].includes(ofBook) ? ofBook : dark.matches ? "dark" : "light";
  };
  const observer = new MutationObserver(dress);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  dark.addEventListener?.("change", dress);
  dress();
  return () => {
    observer.disconnect();
    dark.removeEventListener?.("change", dress);
  };
}
