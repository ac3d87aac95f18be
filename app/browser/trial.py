"""Renders one small page, to show that a browser works here: sandbox, guard and pipe."""

from app.browser.pool import Browsers
from app.browser.values import Bounds, BrowserDeath, BrowserProblem, Chromium, PlainResponse, Refused, SubRequest
from app.model.render import RenderRefusal

TRIAL_S = 20.0
_WORD = "rendered"
_PAGE = PlainResponse(
    url="http://trial.invalid/",
    status=200,
    headers={"content-type": "text/html; charset=utf-8"},
    body=(
        f"<p id=root></p><script>document.getElementById('root').textContent = '{_WORD}'</script>"
        f"<p>{'a page with text is not waited for, as a shell is. ' * 9}"
    ).encode(),
)


def trial(chromium: Chromium) -> BrowserProblem | None:
    """Start the browser, and render. It takes 1.5 seconds. None: it works."""
    browsers = Browsers(chromium.path, most=1)
    try:
        found = browsers.render(_PAGE, _refuse, Bounds(wall_s=TRIAL_S), user_agent="Tiptoe")
    finally:
        browsers.close()
    if isinstance(found, BrowserDeath):
        return found.problem or BrowserProblem(found.cause, "try another Chromium: TIPTOE_CHROMIUM")
    if f">{_WORD}<" not in found.html:
        return BrowserProblem(f"{chromium.path} ran no script", "try another Chromium: TIPTOE_CHROMIUM")
    return None


def _refuse(_: SubRequest) -> Refused:
    return Refused(RenderRefusal.SCOPE)
