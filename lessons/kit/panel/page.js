// A panel without a kernel: all its pictures are in the page; the controls choose one.
const frames = JSON.parse(document.getElementById("frames").textContent);
const controls = [...document.querySelectorAll("[data-texts]")].map((element) => ({ element, texts: JSON.parse(element.dataset.texts) }));
function show() {
  let index = 0;
  for (const { element, texts } of controls) {
    const setting = Number(element.value);
    index = index * texts.length + setting;
    if (element.type === "range") {
      element.setAttribute("aria-valuetext", texts[setting]);
      element.nextElementSibling.textContent = texts[setting];
    }
  }
  document.querySelector(".marks").innerHTML = frames[index].marks;
  document.querySelector(".stage").setAttribute("aria-label", frames[index].alt);
}
for (const { element } of controls) element.addEventListener("input", show);
show();
