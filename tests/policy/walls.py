"""Walls made for bots, and pages that are none: the rows of test_blocks.py."""

from app.policy.blocks import BlockKind

HTML = "text/html; charset=utf-8"
CHALLENGE, SOFT = BlockKind.CHALLENGE, BlockKind.SOFT


def page(body: str, title: str = "", head: str = "") -> str:
    return f"<!DOCTYPE html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>"


KASADA = (
    "<!DOCTYPE html><html><head></head><body><script>window.KPSDK={};KPSDK.now=typeof performance!=='undefined'"
    "&&performance.now?performance.now.bind(performance):Date.now.bind(Date);KPSDK.start=KPSDK.now();</script>"
    "<script "
    'src="/149e9513-01fa-4fb0-aad4-566afd725d1b/2d206a39-8ed7-437e-a3be-862e0f06eea3/ips.js?x"></script></body></html>'
)
IMPERVA = (
    '<html><head><META NAME="robots" CONTENT="noindex,nofollow"><script '
    'src="/_Incapsula_Resource?SWJIYLWA=5074a744e2e3d'
    '891814e9a2dace20bd4,719d34d31c8e3a6e6fffd425f7e032f3"></script><body></body></html>'
)
IMPERVA_FRAME = page(
    '<iframe id="main-iframe" src="/_Incapsula_Resource?CWUDNSAI=9&incident_id=877000-1" width="100%">'
    "Request unsuccessful. Incapsula incident ID: 877000-1</iframe>"
)
AWS = page(
    '<div id="challenge-container"></div>',
    head='<script type="text/javascript">\n window.awsWafCookieDomainList = [];\n window.gokuProps = '
    '{"key":"A"};</script>',
)
ANUBIS = page(
    "<p>Loading...</p><p>You are seeing this because the administrator of this website has set up Anubis.</p>" * 20,
    title="Making sure you&#39;re not a bot!",
    head='<script id="anubis_version" type="application/json">"v1.27.0"</script>'
    '<script id="anubis_challenge" type="application/json">{"rules":{}}</script>',
)
SUCURI = (
    "<html><title>You are being redirected...</title><noscript>Javascript is required.</noscript><script>var s={},u,c,"
    "w=String.fromCharCode,sucuri_cloudproxy_js='',S='YT0n';</script></html>"
)
AMAZON = page(
    '<form method="get" action="/errors/validateCaptcha"><h4>Enter the characters you see below</h4></form>',
    title="Robot Check",
)
JUST_A_MOMENT = page(
    "<noscript>Enable JavaScript and cookies to continue</noscript><script "
    'src="/cdn-cgi/challenge-platform/h/b/x"></script>',
    title="Just a moment...",
)

# name of the wall, statuses that it has been seen with, body
CHALLENGES = [
    ("Cloudflare challenge", (403, 503, 429), JUST_A_MOMENT),
    ("Cloudflare challenge", (403,), page("<script>window._cf_chl_opt={cvId: '3'};</script>" + "x" * 9000)),
    ("Cloudflare challenge", (503,), page('<div class="cf-browser-verification cf-im-under-attack"></div>')),
    ("DataDome challenge", (403, 200), page("<script src='https://ct.captcha-delivery.com/c.js'></script>", "x.fr")),
    ("DataDome challenge", (200,), page('<iframe src="https://geo.captcha-delivery.com/captcha/?a"></iframe>')),
    ("DataDome challenge", (403, 405), '{"url":"https://geo.captcha-delivery.com/captcha/?initialCid=A"}'),
    (
        "HUMAN challenge",
        (403, 200),
        page('<div class="c" id="px-captcha"></div>', "Access to this page has been denied"),
    ),
    ("HUMAN challenge", (403,), '{"appId":"PXabc","blockScript":"/abc/captcha/captcha.js"}'),
    ("HUMAN challenge", (403,), page("<script>/* PerimeterX assignments */ window._pxAppId = 'PX';</script>")),
    ("Akamai challenge", (200, 403), page('<div id="sec-if-cpt-container" role="main"> Powered by </div>')),
    ("Akamai challenge", (428, 200), page('<iframe id="sec-cpt-if" provider="crypto"></iframe>')),
    ("Akamai challenge", (428,), page('<script src="/_sec/cp_challenge/sec-4-4.js"></script>')),
    ("Akamai challenge", (200,), page("", head="<meta http-equiv=refresh content=\"5; URL='/?bm-verify=AAQA'\"/>")),
    ("Imperva challenge", (200, 403), IMPERVA),
    ("Imperva challenge", (403,), IMPERVA_FRAME),
    ("Imperva challenge", (405,), page("<p>Something about your browser …</p>", "Pardon Our Interruption")),
    ("AWS WAF challenge", (202, 405), AWS),
    ("SiteGround challenge", (202,), '<meta http-equiv="refresh" content="0;/.well-known/sgcaptcha/?r=%2F">'),
    ("Sucuri challenge", (200, 307, 403), SUCURI),
    ("DDoS-Guard challenge", (403,), page('<script src="/.well-known/ddos-guard/js-challenge/index.js"></script>')),
    ("DDoS-Guard challenge", (503, 200), page('<script src="https://check.ddos-guard.net/check.js"></script>')),
    ("DDoS-Guard challenge", (403,), page("<h1>One moment</h1>", "DDoS-Guard")),
    ("Kasada challenge", (429, 200), KASADA),
    ("Anubis challenge", (200, 403), ANUBIS),
    ("Anubis challenge", (200,), page("Loading…", head='<link href="/.within.website/x/xess/xess.min.css" rel=x>')),
    ("Anubis challenge", (200,), page("<p>Loading…</p>", "Making sure you’re not a bot!")),
    (
        "go-away challenge",
        (200, 403),
        page("…", head='<link href="/.well-known/.git.gammaspectra.live/git/go-away/cmd/x/style.css"/>'),
    ),
    ("Fastly challenge", (200, 403), page('<script src="/_fs-ch-1T1w/script.js"></script>', "Client Challenge")),
    ("Aliyun challenge", (200,), "<html><script>var arg1='0123456789ABCDEF0123456789ABCDEF01234567';</script></html>"),
    ("Amazon CAPTCHA", (200, 503), AMAZON),
    (
        "Google unusual traffic",
        (429, 503),
        page("<b>About this page</b> Our systems have detected unusual traffic from"),
    ),
    ("Vercel challenge", (403, 429), page("<p>We're verifying your browser</p>", "Vercel Security Checkpoint")),
    (
        "F5 challenge",
        (200,),
        page("<noscript>Please enable JavaScript to view the page content.<br/>Your support ID is: 178</noscript>"),
    ),
    ("hCaptcha", (403, 429), page('<form><div class="h-captcha" data-sitekey="x"></div></form>')),
    ("hCaptcha", (401,), page('<script src="https://js.hcaptcha.com/1/api.js" async></script>')),
    ("reCAPTCHA", (503, 403), page('<div class="form g-recaptcha" data-sitekey="x"></div>')),
    (
        "reCAPTCHA",
        (403,),
        page('<script src="https://www.google.com/recaptcha/api.js?onload=f&render=explicit"></script>'),
    ),
    ("Turnstile", (403,), page('<div class="cf-turnstile"></div>')),
    ("Turnstile", (429,), page('<script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>')),
    ("human check", (403, 503), page("<h1>One more step</h1><p>Please verify you are human.</p>")),
    ("human check", (503,), page("<h1>Checking your browser before accessing example.com.</h1>")),
    ("human check", (403,), page("<p>Are you a robot?</p>")),
    ("human check", (403,), page("<p>Press &amp; Hold to confirm you are a human (and not a bot).</p>")),
    ("human check", (429,), page("<p>Something about your browser made us think you were a bot.</p>")),
    ("human check", (403,), "Please complete the security check to access example.com"),
]


# name of the block, body of a 200
SOFT_BLOCKS = [
    ("denial", page("<h1>Access Denied</h1>", "Access Denied")),
    ("denial", "Access denied"),
    ("denial", page("<p>You have been blocked.</p>")),
    ("denial", page("<p>Sorry, you have been temporarily blocked. Ask support@example.com.</p>")),
    ("denial", page("<h1>Too Many Requests</h1><p>Try again in a minute.</p>", "429 Too Many Requests")),
    ("denial", page("", "Error 429: Too many requests")),
    ("denial", page("<p>We have detected unusual activity from your network.</p>", "Example")),
    ("denial", page("<p>Your IP address has been banned.</p>")),
    ("denial", page("<center><h1>403 Forbidden</h1></center><hr>nginx", "403 Forbidden")),
    ("human check", page("<p>Please verify you are a human.</p>")),
    ("human check", page("<p>To go on, enter what you see.</p>", "Are you a robot?")),
    ("Imperva block", IMPERVA_FRAME),
    ("Imperva block", page("<p>As you were browsing something about your browser …</p>", "Pardon Our Interruption")),
    (
        "Akamai block",
        page(
            '<H1>Access Denied</H1>You don\'t have permission to access "http&#58;&#47;&#47;www&#46;x&#46;com" on this '
            "server.<P>Reference&#32;&#35;18&#46;2d7f1602&#46;16<P>https&#58;&#47;&#47;errors&#46;edgesuite&#46;net",
            "Access Denied",
        ),
    ),
    (
        "F5 block",
        page(
            "The requested URL was rejected. Please consult with your administrator. Your support ID is: 1",
            "Request Rejected",
        ),
    ),
]


NAVIGATION = "<nav>Home Docs Pricing Blog Search</nav>"
PROSE = "<p>What a site may do about bots, and what the bots may do about it, is the matter of this page.</p>" * 12
SHELL = '<noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div>'

# status, body: pages about walls, pages with CAPTCHAs in forms, pages with what walls leave on ordinary ones
NO_WALLS = [
    # articles and documentation
    (200, page(f"<h1>Just a moment...</h1>{PROSE}", "Just a moment...")),
    (200, page(f"<h1>403 Forbidden</h1>{PROSE}", "403 Forbidden - HTTP | MDN")),
    (
        200,
        page(
            f"{NAVIGATION}<h1>Access denied</h1>{PROSE}<p>Checking your browser before accessing</p>", "Access denied"
        ),
    ),
    (200, page(f"{NAVIGATION}{PROSE}<code>window._cf_chl_opt = {{}}</code>", "How Cloudflare challenges work")),
    (200, page(f'{PROSE}<pre>&lt;script id="anubis_challenge"&gt;</pre>', "Setting up Anubis")),
    (200, page(f'{PROSE}<pre>&lt;link href="/.within.website/x/xess/xess.css"&gt;</pre>', "Styling Anubis")),
    (200, page(f"{PROSE}<pre>&lt;div id=&quot;px-captcha&quot;&gt;</pre>", "Press &amp; hold: HUMAN explained")),
    (200, page(f"{PROSE}<code>https://geo.captcha-delivery.com/captcha/</code>", "DataDome")),
    (200, page(f"{PROSE}<code>window.gokuProps = {{}}</code> window.KPSDK = {{}} /ips.js", "AWS WAF and Kasada")),
    (200, page("<p>Request unsuccessful. Incapsula incident ID: what it means</p>" + PROSE, "Incapsula incident ID")),
    (200, page(f"<h1>Pardon our interruption</h1>{PROSE * 3}", "Our move: pardon our interruption")),
    (200, page(f"{PROSE}<p>You have been blocked. Too many requests. Unusual activity.</p>", "Errors of our API")),
    (200, page("<p>Why do I see “verify you are human”?</p>" + "<p>Because …</p>" * 200, "Help")),
    # short ones: what is said is not all, or not at the beginning
    (200, page(SHELL, "Too many requests | API docs")),
    (200, page(SHELL, "How to fix: Access denied")),
    (200, page(f"{NAVIGATION}<p>{'Police say that nobody was hurt. ' * 3}They had seen unusual activity.</p>", "News")),
    (200, page("<p>Access denied. Please log in to read this.</p>", "Members")),
    (200, page("<p>Access denied. Wrong password.</p>", "Access denied")),
    (200, page("<h1>403 km on foot</h1>")),
    # forms
    (200, page('<form>Name <input name=n><div class="g-recaptcha"></div></form>', "Contact")),
    (200, page('<form><div class="h-captcha"></div></form><script src="https://js.hcaptcha.com/1/api.js"></script>')),
    (200, page('<script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>Write to us')),
    (404, page('<div class="cf-turnstile"></div><h1>Not found</h1>')),
    (403, page(f'<h1>Forbidden</h1>{PROSE * 2}<footer>Newsletter <div class="g-recaptcha"></div></footer>')),
    (403, page('<h1>Forbidden</h1><script src="https://www.google.com/recaptcha/api.js?render=6Lc_k"></script>')),
    (401, page('<form>Please log in <input type=password><div class="g-recaptcha"></div></form>')),
    # what they put into ordinary pages
    (200, page('<p>Hello</p><script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>')),
    (403, page('<h1>Forbidden</h1><script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>')),
    (200, page("<p>Hi</p><script>_analytics_scr.src = '/_Incapsula_Resource?SWJIYLWA=719d34d31';</script>")),
    (200, page('<p>Hi</p><script src="/_Incapsula_Resource?SWJIYLWA=719d34d31"></script>')),
    (200, page("<p>Hi</p><script>window._pxAppId = 'PX123';</script><script src='/123/init.js'></script>")),
    (200, page('<p>Hi</p><script src="https://js.datadome.co/tags.js"></script>')),
    (200, page("<p>Hi</p><script>window.AwsWafCookieDomainList = ['x.com'];</script>")),
    (200, page("<p>Hi</p><script src='/1/2/p.js'></script><script>KPSDK.configure([])</script>")),
    (200, page("<p>Hi</p><APM_DO_NOT_TOUCH><script src='/TSPD/08?type=10'></script></APM_DO_NOT_TOUCH>")),
    # refusals that are about this URL for all we know
    (403, page("<h1>Access Denied</h1>You don't have permission to access this on this server. Reference #18.2d")),
    (403, page("<h1>Sorry, you have been blocked</h1>", "Attention Required! | Cloudflare")),
    (403, page("Access Denied - Sucuri Website Firewall")),
    (403, page("The requested URL was rejected. Please consult with your administrator.")),
    (429, page("<h1>Too Many Requests</h1>")),
    (503, page("<h1>Service Unavailable</h1>Back soon.")),
    # nothing at all
    (200, ""),
    (403, ""),
    (204, ""),
    (None, ""),
]
