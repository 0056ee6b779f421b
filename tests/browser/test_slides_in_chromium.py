"""Slides in Chromium, without a network."""
from tests.test_slides import LESSON
from tools import slides


def test_slides_are_turned_by_key_without_a_network_and_fit_on_the_screen(page, tmp_path):
    path = slides.write("lesson", LESSON, tmp_path)
    page.set_viewport_size({"width": 1280, "height": 720})
    page.context.set_offline(True)
    try:
        page.goto(path.as_uri())
        page.wait_for_function("() => window.Reveal && Reveal.isReady()")
        seen = []
        for _ in range(page.evaluate("() => Reveal.getTotalSlides()")):
            slide = page.locator("section.present section.present")
            seen.append(slide.locator("h1:visible, h2:visible").inner_text().rstrip("¶"))
            assert slide.evaluate("(slide) => slide.scrollHeight <= 720")
            assert not slide.locator("aside.notes").is_visible()
            page.keyboard.press("ArrowRight")
        assert seen == ["1 · A lesson", "A section", "Another", "In one minute"]
        assert page.locator("section.present math").count() == 1
    finally:
        page.context.set_offline(False)
