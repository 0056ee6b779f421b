// A host wears the theme that JupyterLab says; elsewhere it wears that of the reader's system. Returns what ends it.
export function followTheme(host) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const dress = () => {
    const said = document.body.dataset.jpThemeLight;
    host.dataset.theme = said ? (said === "false" ? "dark" : "light") : dark.matches ? "dark" : "light";
  };
  const observer = new MutationObserver(dress);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  dark.addEventListener?.("change", dress);
  dress();
  return () => {
    observer.disconnect();
    dark.removeEventListener?.("change", dress);
  };
}
