"""What a page may do: nothing but what lies in its own folder. A content security policy in every page says so to the
browser, which refuses all else. Scripts that stand in the page itself are allowed by their digests."""
import base64
import hashlib
import re
from pathlib import Path

_SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)[^>]*>(.*?)</script>", re.DOTALL)
_CHARSET = re.compile(r"<meta charset=[^>]*>", re.IGNORECASE)
_COMPILES = "_static/kernel.js"  # a page with this script runs WebAssembly, which the script holds
_MARK = 'http-equiv="Content-Security-Policy"'


def policy(page):
    """The policy of a page. On disk, browsers differ in whether a file is of the page's own place, so `file:` is there
    too; on a web server it allows nothing."""
    digests = [base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
               for script in _SCRIPT.findall(page)]
    compiles = ["'wasm-unsafe-eval'"] if _COMPILES in page else []
    scripts = " ".join(["'self'", "file:", *compiles, *(f"'sha256-{digest}'" for digest in dict.fromkeys(digests))])
    return "; ".join(["default-src 'none'", f"script-src {scripts}", "style-src 'self' file: 'unsafe-inline'",
                      "img-src 'self' file: data:", "font-src 'self' file: data:", "connect-src 'none'",
                      "form-action 'self' file:", "base-uri 'none'"])


def with_policy(page):
    """The page with its policy, in front of everything that it governs; the same page if it has one."""
    if _MARK in page:
        return page
    meta = f'<meta {_MARK} content="{policy(page)}">'
    return _CHARSET.sub(lambda charset: f"{charset[0]}\n    {meta}", page, count=1)


def _finished(app, error):
    if error or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        if "_static" in path.parts:  # parts of the theme, and no pages
            continue
        page = path.read_text(encoding="utf-8")
        if (bound := with_policy(page)) != page:
            path.write_text(bound, encoding="utf-8")


def setup(app):
    """Write the policy when all pages are there."""
    app.connect("build-finished", _finished)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
