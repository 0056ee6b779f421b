"""The deeper notebook of chapter 1 has still pictures alone."""


def compare(page, said):
    """said: the alternative text of every panel, of which there is none."""
    assert said == []
