"""Switches that Chromium is started with. The kernel denies the network; these keep Chromium from trying it."""

from typing import Final

from app.browser.guard import PROFILE

_FEATURES_OFF: Final = (
    "AutofillServerCommunication",
    "CertificateTransparencyComponentUpdater",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",  # a page of http: would be asked for with https:
    "InterestFeedContentSuggestions",
    "MediaRouter",
    "OptimizationHints",
    "PreloadTopChromeWebUI",  # a renderer of 100 MB that nobody sees
    "Prerender2",
    "SpareRendererForSitePerProcess",
    "Translate",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "WebUIOmniboxPopup",
)
FLAGS: Final = (
    "--headless",
    "--remote-debugging-pipe",  # no port is opened
    f"--user-data-dir={PROFILE}",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy",
    "--no-proxy-server",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-startup-window",
    "--no-pings",
    "--deny-permission-prompts",
    "--disable-notifications",
    "--disable-3d-apis",
    "--disable-gpu",
    "--mute-audio",
    "--hide-scrollbars",
    "--password-store=basic",
    # Timers and frames at their own pace, as if somebody looked at the page.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--window-size=1280,1024",
    f"--disable-features={','.join(_FEATURES_OFF)}",
    "--js-flags=--max-old-space-size=512",
)
UNSAFE: Final = (b"--no-sandbox", b"--disable-seccomp-filter-sandbox", b"--disable-setuid-sandbox", b"--single-process")
