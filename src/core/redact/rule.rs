//! [`RULES`]: formats that only a secret has.
//!
//! Sources, as of 2026: what each vendor documents about its tokens, the partner list of GitHub's
//! secret scanning, and the public rule set of gitleaks (`config/gitleaks.toml`), against which
//! lengths were compared. Lengths are lower bounds, so that a token that has grown, or a shortened
//! one in a test, is found as well.

use regex::Regex;

use super::allow::AllowList;
use super::drawn::is_drawn_behind_prefix;
use super::mark::{Masked, is_mark};
use super::pem::key_end;
use super::value::{holds_credentials, is_constant, is_placeholder, is_random};

/// With this most patterns begin.
const BOUNDARY: &str = r"(?-u:\b)";

const NO_CASE: &str = "(?i)";

/// What ends in a letter or a digit and is no part of the word behind it: an escape in a string, in
/// an address, and a colour of a terminal.
const BEHIND: &str =
    r"\\[bfnrt]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\[[0-9;]{0,16}m|%[0-9A-Fa-f]{2}";

/// Stands for [`BEHIND`] in patterns that begin otherwise.
const BEHIND_MARK: &str = "<behind>";

/// One format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// The mark's name.
    pub mark: &'static str,
    /// How a match begins, or what it must contain: cheap, and without counting.
    pub hint: &'static str,
    /// The format; the group `s` is the secret, the whole match where there is no such group.
    pub pattern: &'static str,
    /// What a match has to be besides.
    pub accept: Accept,
}

impl Rule {
    /// The pattern, ready to be matched.
    ///
    /// # Panics
    ///
    /// Never: the patterns are constants, and a test compiles every one.
    #[expect(clippy::expect_used, reason = "constants, compiled by every test run")]
    pub(super) fn compile(&self) -> Regex {
        let (flags, pattern) = match self.pattern.strip_prefix(NO_CASE) {
            Some(rest) => (NO_CASE, rest),
            None => ("", self.pattern),
        };
        let pattern = match pattern.strip_prefix(BOUNDARY) {
            // In a format of words, `_` makes another name of the first one.
            Some(rest) if rest.contains("(?P<s>") => {
                format!("{flags}(?:{BOUNDARY}|{BEHIND}){rest}")
            }
            Some(rest) => format!("{flags}(?:{BOUNDARY}|{BEHIND}|_)(?P<s>{rest})"),
            None => self.pattern.replace(BEHIND_MARK, BEHIND),
        };
        Regex::new(&pattern).expect("the rule table compiles")
    }
}

/// What a match of a pattern has to be besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accept {
    /// The format is proof enough, unless it is filled up with `x` or a vendor's own example.
    Any,
    /// Letters and digits mixed, or letters as no word has them.
    Random,
    /// Anything but a placeholder.
    Filled,
    /// With what follows it, a private key: the match is its first line.
    PrivateKey,
    /// Anything but a placeholder or the port of an address: `user@host:5432/`.
    UrlPassword,
    /// Base64 of `user:password`.
    Credentials,
    /// Anything but a placeholder or a group of an address.
    PgPass,
}

/// Replaces the matches of one rule; `None` when there are none.
pub(super) fn mask_all(
    rule: &Rule,
    pattern: &Regex,
    text: &str,
    allow: &AllowList,
) -> Option<(String, u32)> {
    let mut masked = Masked::new(text);
    let mut at = 0;
    while let Some(found) = pattern.captures_at(text, at) {
        let Some(secret) = found.name("s").or_else(|| found.get(0)) else {
            break;
        };
        let mut range = secret.range();
        let is_secret = match rule.accept {
            Accept::PrivateKey => match key_end(text, range.end) {
                Some(end) => {
                    range.end = end;
                    true
                }
                None => false,
            },
            Accept::Any => !is_placeholder(secret.as_str()),
            Accept::Random => {
                let secret = secret.as_str();
                (is_random(secret) && !is_constant(secret))
                    || (is_drawn_behind_prefix(secret) && !is_placeholder(secret))
            }
            Accept::PgPass => !is_placeholder(secret.as_str()) && !is_group(secret.as_str()),
            Accept::UrlPassword => {
                let before = found
                    .get(0)
                    .map_or("", |whole| &text[whole.start()..range.start]);
                let is_port = match begins_with_port(secret.as_str()) {
                    Some('<' | '>') => true,
                    Some(_) => before.contains('@'),
                    None => false,
                };
                if is_port {
                    // What follows may be another address, with a password.
                    let port = secret.as_str().bytes().take_while(u8::is_ascii_digit);
                    range.end = range.start + port.count();
                }
                !is_port && !is_placeholder(secret.as_str())
            }
            Accept::Filled => !is_placeholder(secret.as_str()),
            Accept::Credentials => holds_credentials(secret.as_str()),
        };
        at = range.end.max(at + 1);
        if is_secret && !is_mark(secret.as_str()) && !allow.has(text, range.clone()) {
            masked.replace(range.start, range.end, rule.mark);
        }
        at = text.ceil_char_boundary(at);
        if at >= text.len() {
            break;
        }
    }
    masked.finish()
}

/// `cd:ef`: what follows the fourth colon of an address of a network card or of IPv6.
fn is_group(text: &str) -> bool {
    text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        || text.split(':').all(|part| part.len() == 2) && text.contains(':')
}

/// What follows the port in `5432/db`, `27017,host`: a password that begins so is encoded where a mail
/// address is its user. In `6379>` and `6379<br>` an address ends.
fn begins_with_port(text: &str) -> Option<char> {
    let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_port = (1..=5).contains(&(text.len() - rest.len()));
    let next = rest.chars().next().filter(|_| is_port)?;
    "/?,<>".contains(next).then_some(next)
}

const fn any(mark: &'static str, hint: &'static str, pattern: &'static str) -> Rule {
    Rule {
        mark,
        hint,
        pattern,
        accept: Accept::Any,
    }
}

const fn random(mark: &'static str, hint: &'static str, pattern: &'static str) -> Rule {
    Rule {
        mark,
        hint,
        pattern,
        accept: Accept::Random,
    }
}

const fn filled(mark: &'static str, hint: &'static str, pattern: &'static str) -> Rule {
    Rule {
        mark,
        hint,
        pattern,
        accept: Accept::Filled,
    }
}

/// The formats, the more special before the more general: what one has masked the next does not
/// see.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    // PEM (RFC 7468), OpenSSH, PGP (RFC 9580), SSH2 (RFC 4716: four dashes and a space). To its
    // end line, or as far as there is base64 when the end was cut off.
    Rule { mark: "PRIVATE_KEY", hint: r"PRIVATE KEY|Static key V1",
        pattern: r"-{4,5} ?BEGIN (?:[A-Za-z0-9]+ ){0,4}(?:PRIVATE KEY|Static key V1)(?: BLOCK)? ?-{4,5}", accept: Accept::PrivateKey },
    // PuTTY's own format: the private half is a counted block of base64 lines.
    any("PRIVATE_KEY", r"Private-Lines:", r"Private-Lines: [0-9]{1,3}(?:\r?\n|\\+n)(?P<s>(?:[A-Za-z0-9+/=]{1,64}(?:\r?\n|\\+n|\z))+)"),
    // age (github.com/FiloSottile/age): Bech32 with this prefix.
    any("PRIVATE_KEY", r"AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}"),
    // JSON Web Keys (RFC 7517): the private parts of RSA and elliptic keys.
    any("PRIVATE_KEY", r#""(?:d|dp|dq|qi)\\*""#, r#"\\*"(?:d|dp|dq|qi)\\*"\s*:\s*\\*"(?P<s>[A-Za-z0-9_-]{32,})\\*""#),

    // Anthropic: sk-ant-api03-, sk-ant-admin01-, sk-ant-oat01- (console.anthropic.com).
    any("ANTHROPIC_KEY", r"sk-ant-", r"(?-u:\b)sk-ant-[A-Za-z0-9_-]{8,}"),
    // OpenRouter: sk-or-v1- and 64 hex digits.
    any("OPENROUTER_KEY", r"sk-or-", r"(?-u:\b)sk-or-(?:v[0-9]-)?[A-Za-z0-9]{16,}"),
    // LangSmith: lsv2_pt_, lsv2_sk_; Langfuse: sk-lf- and a UUID.
    any("LANGSMITH_KEY", r"lsv2_|sk-lf-", r"(?-u:\b)(?:lsv2_(?:pt|sk)_[A-Za-z0-9_]{16,}|sk-lf-[0-9a-f-]{30,})"),
    // OpenAI: sk-, sk-proj-, sk-svcacct-, sk-admin-; DeepSeek, Moonshot and others copy the form.
    random("OPENAI_KEY", r"sk-", r"(?-u:\b)sk-(?:(?:proj|svcacct|admin|None)-)?[A-Za-z0-9_-]{16,}"),
    // xAI: xai- and 80 characters.
    random("XAI_KEY", r"xai-", r"(?-u:\b)xai-[A-Za-z0-9_-]{16,}"),
    // Groq: gsk_. Perplexity: pplx-. Cerebras: csk-. Fireworks: fw_. Together: tgp_v1_.
    // Replicate: r8_. Tavily: tvly-. ElevenLabs: sk_ and 48 hex digits. NVIDIA: nvapi-.
    random("AI_PROVIDER_KEY", r"gsk_|pplx-|csk-|fw_|tgp_v1_|r8_|tvly-|sk_[0-9a-f]|nvapi-", concat!(
        r"(?-u:\b)(?:gsk_[A-Za-z0-9]{20,}|pplx-[A-Za-z0-9]{20,}|csk-[a-z0-9]{20,}|fw_[A-Za-z0-9]{20,}",
        r"|tgp_v1_[A-Za-z0-9_-]{20,}|r8_[A-Za-z0-9]{20,}|tvly-(?:dev-|prod-)?[A-Za-z0-9-]{20,}",
        r"|sk_[0-9a-f]{40,}|nvapi-[A-Za-z0-9_-]{20,})")),
    // Hugging Face: hf_ (users), api_org_ (organisations).
    random("HUGGINGFACE_TOKEN", r"hf_|api_org_", r"(?-u:\b)(?:hf|api_org)_[A-Za-z0-9]{20,}"),

    // GitHub: ghp_ gho_ ghu_ ghs_ ghr_ and fine-grained tokens (GitHub, "Behind GitHub's new
    // authentication token formats", 2021).
    any("GITHUB_TOKEN", r"gh[pousr]_", r"gh[pousr]_[A-Za-z0-9]{36,}"),
    any("GITHUB_TOKEN", r"gh[pousr]_|github_pat_", r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,})"),
    // GitLab ("Token prefixes" in its documentation), and the older runner registration token.
    random("GITLAB_TOKEN", r"gl[a-z]{2,6}-|GR1348941|glptt-|_gitlab_session=", concat!(
        r"(?-u:\b)(?:gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|wt|soat|ffct|feedtoken)-[A-Za-z0-9_.-]{16,}|GR1348941[A-Za-z0-9_-]{16,}",
        r"|_gitlab_session=[0-9a-z]{20,})")),
    // Bitbucket app passwords: ATBB. Atlassian: ATATT3, ATCTT3 and others.
    random("ATLASSIAN_TOKEN", r"AT(?:BB|[A-Z]{2}T3|ATT|CTT)", r"(?-u:\b)(?:ATBB[A-Za-z0-9]{20,}|AT[A-Z]{2}T3[A-Za-z0-9_=-]{20,})"),

    // Slack: bot, user, workspace, refresh, configuration and app-level tokens.
    any("SLACK_TOKEN", r"xox[a-z]|xapp-", r"(?i)(?-u:\b)(?:xoxe\.)?(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}"),
    // Incoming webhooks are secrets as a whole: Slack, Discord, Teams.
    any("WEBHOOK_URL", r"hooks\.slack\.com|/api/webhooks/|webhook\.office\.com", concat!(
        r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9+/_-]{16,})",
        r"|discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{16,}|[a-z0-9-]+\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/_-]{16,})")),
    // Discord bots: base64 of the id, a timestamp, an HMAC.
    random("DISCORD_TOKEN", r"[MNO][A-Za-z0-9_-]+\.", r"(?-u:\b)[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"),
    // Telegram bots: id, colon, 35 characters that begin with AA.
    any("TELEGRAM_TOKEN", r":AA", r"(?-u:\b)[0-9]{7,11}:AA[A-Za-z0-9_-]{30,}"),

    // AWS: long-term keys AKIA (users), others by what they name ("IAM identifiers" in its
    // documentation); ASIA is temporary. Base32, so no 0, 1, 8, 9, but tests use those too.
    any("AWS_TEMP_KEY", r"ASIA", r"(?-u:\b)ASIA[A-Z0-9]{16}(?-u:\b)"),
    any("AWS_ACCESS_KEY", r"A(?:KIA|BIA|CCA|3T)", r"(?-u:\b)(?:AKIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?-u:\b)"),
    // Amazon Bedrock API keys.
    any("AWS_ACCESS_KEY", r"ABSK", r"(?-u:\b)ABSK[A-Za-z0-9+/]{60,}={0,2}"),
    // Google: API keys, OAuth client secrets, access and refresh tokens.
    any("GOOGLE_KEY", r"AIza|GOCSPX-|ya29\.|1//0", r"(?-u:\b)(?:AIza[A-Za-z0-9_-]{30,}|GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_.-]{20,}|1//0[A-Za-z0-9_-]{30,})"),
    // Azure: client secrets of Entra ID hold "Q~" at their fifth place.
    random("AZURE_SECRET", r"Q~", r"(?:^|<behind>|_|[^A-Za-z0-9_~.-])(?P<s>[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{28,})"),
    // Azure storage: shared access signatures.
    any("AZURE_SECRET", r"sig=", r"[?&;]sig=(?P<s>[A-Za-z0-9%+/=]{20,})"),
    // AWS: presigned requests.
    any("AWS_SIGNATURE", r"X-Amz-", r"X-Amz-(?:Signature|Security-Token)=(?P<s>[A-Za-z0-9%+/=]{16,})"),
    // Alibaba Cloud, Tencent Cloud, Yandex Cloud.
    random("CLOUD_KEY", r"LTAI|AKID|AQVN|YCAJ", r"(?-u:\b)(?:LTAI[A-Za-z0-9]{16,}|AKID[A-Za-z0-9]{28,}|AQVN[A-Za-z0-9_-]{30,}|YCAJ[A-Za-z0-9_-]{20,})"),

    // Stripe: secret, restricted and webhook keys; publishable ones are public.
    any("STRIPE_KEY", r"[sr]k_(?:test|live|prod)_|whsec_", r"(?-u:\b)(?:[sr]k_(?:test|live|prod)_[A-Za-z0-9]{8,}|whsec_[A-Za-z0-9+/=]{16,})"),
    // Square, PayPal (Braintree), Plaid, Razorpay, Adyen, Shippo, Flutterwave, Duffel, EasyPost.
    random("PAYMENT_KEY", r"sq0|EAAA|access_token\$|rzp_|AQE|shippo_|FLWSECK|duffel_|EZ[AT]K", concat!(
        r"(?-u:\b)(?:sq0(?:atp|csp)-[A-Za-z0-9_-]{20,}|EAAA[A-Za-z0-9_-]{40,}|access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}",
        r"|rzp_(?:live|test)_[A-Za-z0-9]{12,}|shippo_(?:live|test)_[0-9a-fA-F]{30,}|FLWSECK(?:_TEST)?-[A-Za-z0-9-]{12,}",
        r"|duffel_(?:live|test)_[A-Za-z0-9_=-]{30,}|EZ[AT]K[A-Za-z0-9]{40,})")),
    // Shopify: admin, custom, private app and shared secrets.
    any("SHOPIFY_TOKEN", r"shp(?:at|ca|pa|ss)_", r"(?-u:\b)shp(?:at|ca|pa|ss)_[0-9a-fA-F]{20,}"),
    // Facebook and Instagram graph tokens.
    random("FACEBOOK_TOKEN", r"EAA", r"(?-u:\b)EAA[A-Z][A-Za-z0-9]{60,}"),

    // Package registries: npm, PyPI, RubyGems, Cargo, NuGet, Docker Hub, Clojars.
    random("REGISTRY_TOKEN", r"npm_|pypi-|rubygems_|cio|oy2|dckr_|CLOJARS_", concat!(
        r"(?-u:\b)(?:npm_[A-Za-z0-9]{20,}|pypi-[A-Za-z0-9_-]{30,}|rubygems_[0-9a-f]{30,}|cio[A-Za-z0-9]{32}(?-u:\b)",
        r"|oy2[a-z0-9]{43}(?-u:\b)|dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}|CLOJARS_[A-Za-z0-9]{40,})")),
    // Twilio: API keys (the SK form of its SIDs) stand for a secret that is shown once.
    any("TWILIO_KEY", r"SK[0-9a-fA-F]", r"(?-u:\b)SK[0-9a-fA-F]{32}(?-u:\b)"),
    // Mail: SendGrid, Mailgun, Mailchimp (Mandrill), Brevo, Resend.
    random("MAIL_KEY", r"SG\.|-us[0-9]|xkeysib-|xsmtpsib-|re_|md-", concat!(
        r"(?-u:\b)(?:SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|[0-9a-f]{32}-us[0-9]{1,2}(?-u:\b)",
        r"|x(?:key|smtp)sib-[0-9a-f]{40,}-[A-Za-z0-9]{10,}|re_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,})")),
    random("MAIL_KEY", r"key-[0-9a-f]", r"(?:^|<behind>|[^A-Za-z0-9_-])(?P<s>key-[0-9a-f]{32})(?-u:\b)"),

    // Hosting: DigitalOcean, Heroku, Cloudflare, Fly.io, Netlify, Render, Vercel, Supabase, Neon,
    // PlanetScale, Scalingo, Linode's and others have no prefix.
    random("HOSTING_TOKEN", r"do[opr]_v1_|HRKU-|v1\.0-|fo1_|fm[12]|nfp_|rnd_|vc[a-z]_|sbp_|sb_secret_|napi_|pscale_|tk-us-", concat!(
        r"(?-u:\b)(?:do[opr]_v1_[0-9a-f]{32,}|HRKU-[A-Za-z0-9_-]{30,}|v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}|fo1_[A-Za-z0-9_-]{40,}",
        r"|fm[12][ar]?_[A-Za-z0-9+/]{60,}={0,3}|nfp_[A-Za-z0-9]{30,}|rnd_[A-Za-z0-9]{20,}|vc[pkiar]_[A-Za-z0-9]{24,}|sbp_[0-9a-f]{30,}",
        r"|sb_secret_[A-Za-z0-9_-]{20,}|napi_[a-z0-9]{30,}|pscale_(?:tkn|pw|oauth|app)_[A-Za-z0-9_.=-]{24,}|tk-us-[A-Za-z0-9_-]{40,})")),
    // Secrets of secret keepers: HashiCorp Vault and Terraform, Pulumi, Doppler, 1Password,
    // Infisical.
    random("VAULT_TOKEN", r"hv[sbr]\.|s\.|\.atlasv1\.|pul-|dp\.|ops_eyJ|A3-", concat!(
        r"(?-u:\b)(?:hv[sbr]\.[A-Za-z0-9_-]{20,}|s\.[A-Za-z0-9]{24}(?-u:\b)|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}|pul-[0-9a-f]{40}",
        r"|dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{20,}|ops_eyJ[A-Za-z0-9+/_-]{60,}={0,3}|A3-[A-Z0-9]{6}-[A-Z0-9-]{20,})")),
    // Watching: Grafana, New Relic, Sentry, Dynatrace, Sonar, LaunchDarkly, PostHog.
    random("MONITORING_TOKEN", r"gls?[ac]_|NR(?:AK|JS|II|RA|BR)-|sntry[su]_|dt0|sq[pua]_|(?:sdk|mob|api)-|phx_", concat!(
        r"(?-u:\b)(?:gl(?:sa|c)_[A-Za-z0-9+/_=]{28,}|NR(?:AK|JS|II|RA|BR)-[A-Za-z0-9_-]{20,}|sntry[su]_[A-Za-z0-9+/_=]{30,}",
        r"|dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{60,}|sq[pua]_[0-9a-f]{40}|(?:sdk|mob|api)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        r"|phx_[A-Za-z0-9]{30,})")),
    // Grafana's older keys: base64 of `{"k":"`.
    any("MONITORING_TOKEN", r"eyJrIjoi", r"(?-u:\b)eyJrIjoi[A-Za-z0-9+/]{40,}={0,2}"),
    // Work: Linear, Notion, Airtable, Asana, Figma, Postman, Typeform, Contentful, Databricks,
    // JFrog, Buildkite, CircleCI, Deno, Tailscale, Mapbox (secret tokens only), Sourcegraph,
    // HubSpot, Frame.io and others.
    random("SERVICE_TOKEN", r"lin_(?:api|oauth)_|secret_[A-Za-z0-9]|ntn_|pat[A-Za-z0-9]+\.|fig[dor]_|PMAK-|tfp_|CFPAT-|dapi[0-9a-f]|AKCp|cmVmd|bkua_|CCIPAT_|dd[pw]_|tskey-|sk\.eyJ|sgp_|pat-(?:na|eu)|fio-u-|p8e-", concat!(
        r"(?-u:\b)(?:lin_(?:api|oauth)_[A-Za-z0-9]{30,}|secret_[A-Za-z0-9]{40,}|ntn_[A-Za-z0-9]{30,}|pat[A-Za-z0-9]{14}\.[0-9a-f]{40,}",
        r"|fig[dor]_[A-Za-z0-9_-]{20,}|PMAK-[0-9a-f]{20,}-[0-9a-f]{20,}|tfp_[A-Za-z0-9_.=-]{30,}|CFPAT-[A-Za-z0-9_-]{30,}|dapi[0-9a-f]{32}",
        r"|AKCp[A-Za-z0-9]{50,}|cmVmd[A-Za-z0-9]{50,}|bkua_[0-9a-f]{30,}|CCIPAT_[A-Za-z0-9_]{20,}|dd[pw]_[A-Za-z0-9]{30,}|tskey-[a-z]+-[A-Za-z0-9-]{16,}",
        r"|sk\.eyJ[A-Za-z0-9_.-]{40,}|sgp_[A-Za-z0-9_]{40,}|pat-(?:na|eu)[0-9]-[0-9a-f-]{36}|fio-u-[A-Za-z0-9_=-]{40,}|p8e-[A-Za-z0-9]{30,})")),
    // Adafruit, Prefect, ReadMe, Octopus Deploy, OpenShift, Plaid, Infracost, Aiven, Defined
    // Networking, 42, SettleMint, ClickHouse Cloud, Harness, short-lived Bedrock keys, Yandex IAM,
    // and JWT in base64.
    random("SERVICE_TOKEN", r"aio_|pnu_|rdme_|API-[A-Z0-9]|sha256~|access-(?:prod|dev|sand)|ico-[A-Za-z0-9]|AVNS_|dnkey-|s-s4t2|sm_[aps]at_|4b1d|[ps]at\.[A-Za-z0-9_-]|bedrock-api-key-|t1\.[A-Za-z0-9]|ZXlK", concat!(
        r"(?-u:\b)(?:aio_[A-Za-z0-9]{28}(?-u:\b)|pnu_[A-Za-z0-9]{36}(?-u:\b)|rdme_[a-z0-9]{70}(?-u:\b)|API-[A-Z0-9]{26}(?-u:\b)|sha256~[A-Za-z0-9_-]{40,}",
        r"|access-(?:production|development|sandbox)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        r"|ico-[A-Za-z0-9]{32}(?-u:\b)|AVNS_[A-Za-z0-9_-]{16,}|dnkey-[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}|s-s4t2(?:ud|af)-[0-9a-f]{64}",
        r"|sm_[aps]at_[A-Za-z0-9]{16}(?-u:\b)|4b1d[A-Za-z0-9]{38}(?-u:\b)|[ps]at\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}",
        r"|bedrock-api-key-[A-Za-z0-9+/=]{20,}|t1\.[A-Za-z0-9_-]{20,}={0,2}\.[A-Za-z0-9_-]{80,}|ZXlK[A-Za-z0-9+/_-]{60,})")),
    // With their sign in the middle or at the end, so that a search cannot begin there: MaxMind,
    // Authress, Azure DevOps and Azure's AI services.
    random("SERVICE_TOKEN", r"_mmk|\.acc[_-]|AZDO|JQQJ99", concat!(
        r"(?-u:\b)(?:[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?-u:\b)|[A-Za-z0-9]{70,80}AZDO[A-Za-z0-9]{4}(?-u:\b)|[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{20,}",
        r"|(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,})")),

    // JWT and JWE (RFC 7519, 7516): base64url of `{"`, in three or five parts.
    any("JWT", r"eyJ", r"(?-u:\b)eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){1,3}"),

    // `Authorization` of HTTP (RFC 9110 §11), whatever the scheme; in shells, code and JSON too.
    Rule { mark: "BASIC_AUTH", hint: r"(?i)basic\s", pattern: r"(?i)(?-u:\b)basic\s+(?P<s>[A-Za-z0-9+/]{6,}={0,2})", accept: Accept::Credentials },
    random("BEARER_TOKEN", r"(?i)bearer", r#"(?i)(?-u:\b)bearer(?:\s+|%20)\\*["']?(?P<s>[A-Za-z0-9._~+/=|:%-]{6,})"#),
    random("AUTHORIZATION", r"(?i)authorization", r#"(?i)authorization\\*["']?\]?\s{0,4}[:=,]\s{0,4}[bfru]?\\*["'`]?(?:[a-z][a-z0-9-]{1,30}\s+){0,1}(?P<s>[A-Za-z0-9._~+/=|:%-]{6,})"#),
    // Cookies (RFC 6265): the whole header; without a header those that name a session.
    filled("COOKIE", r"(?i)cookie", r#"(?i)(?-u:\b)(?:set-)?cookie\\*["']?\s{0,4}[:=]\s{0,4}\\*["']?(?P<s>[A-Za-z0-9_.%-]+=[^\s"'\\;]{4,}(?:; ?[A-Za-z0-9_.%-]+=[^\s"'\\;]+)*)"#),
    filled("COOKIE", r"(?i)sess(?:ion)?id|connect\.sid", r#"(?i)(?:phpsessid|jsessionid|asp\.net_sessionid|(?-u:\b)sessionid|connect\.sid)=(?P<s>[A-Za-z0-9%._:-]{8,})"#),

    // Passwords in URLs (RFC 3986 §3.2.1). Those of databases and brokers hold any character, where
    // no element of XML ends. A user may be a mail address.
    Rule { mark: "URL_PASSWORD", hint: r"(?i)(?:postgres|mysql|maria|mongo|redis|amqp|mssql|sqlserver|clickhouse|cockroach|nats|kafka|ldap|smtp|ftp)[a-z+]*://",
        pattern: r#"(?i)(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|clickhouse|cockroachdb|nats|kafka|ldaps?|smtps?|s?ftps?)(?:\+[a-z0-9]+)?://[^\s:/"'`<>]*:(?P<s>(?:[^\s"'`<]|<[^\s"'`/]){1,512})@[A-Za-z0-9\[_$\{%]"#, accept: Accept::UrlPassword },
    Rule { mark: "URL_PASSWORD", hint: r"://", pattern: r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s:/"'`<>]*:(?P<s>[^\s/"'`<>]{1,512})@[A-Za-z0-9\[_$\{%]"#, accept: Accept::UrlPassword },
    // A token in the place of the user, as in `https://TOKEN@host/`.
    random("URL_TOKEN", r"://", r#"(?-u:\b)https?://(?P<s>[A-Za-z0-9_.~%-]{20,})@[A-Za-z0-9\[]"#),

    // Command lines: `curl -u user:password`, and passwords of clients that take them with `-p`.
    filled("PASSWORD", r"(?:-u|--user|--proxy-user)[ =]", r#"(?:^|[\s"'\[,])(?:-u|--user|--proxy-user)(?:[ =]+|["'], *)["']?[A-Za-z0-9_.@%+-]+:(?P<s>[^\s"'`]{3,})"#),
    filled("PASSWORD", r"sshpass|mysql|mariadb|docker login|podman login|redis-cli|ldap[a-z]+ ", concat!(
        r#"(?-u:\b)(?:sshpass[^\n|;&]*? -p ?|(?:mysql|mysqldump|mysqladmin|mariadb)(?: [^\n|;&]*?)? -p"#,
        r#"|(?:docker|podman) login[^\n|;&]*? -p[ =]?|redis-cli[^\n|;&]*? -a |ldap[a-z]+ [^\n|;&]*? -w )["']?(?P<s>[^\s"'`-][^\s"'`]{2,})"#)),
    filled("PASSWORD", r"htpasswd|(?i:securestring)|pass(?:in|out)? pass:", concat!(
        r#"(?:(?-u:\b)htpasswd(?: -[A-Za-z0-9]+)* -[A-Za-z]*b[A-Za-z]* \S+ \S+ ["']?|(?i:ConvertTo-SecureString)\s+(?:-String\s+)?["']|-pass(?:in|out)? pass:)"#,
        r#"(?P<s>[^\s"'`$][^\s"'`]{2,})"#)),
    // Lines of .pgpass: host, port, database, user, password. Any other port than PostgreSQL's
    // own and its poolers' wants more than a word.
    Rule { mark: "PASSWORD", hint: r":(?:\*|54[0-9]{2}|6432):", pattern: r#"(?m:^|[\s"'`]|\\n)(?:[A-Za-z*][A-Za-z0-9_.*-]*|/[A-Za-z0-9_./-]+|[0-9]{1,3}(?:\.[0-9]{1,3}){3}):(?:\*|54[0-9]{2}|6432):(?:\*|[A-Za-z_][A-Za-z0-9_.$-]*):(?:\*|[A-Za-z_][A-Za-z0-9_.$@-]*):(?P<s>[^\s"'`]+)"#, accept: Accept::PgPass },
    random("PASSWORD", r":[0-9]{4,5}:", r#"(?m:^|[\s"'`]|\\n)[A-Za-z][A-Za-z0-9_-]*\.?[A-Za-z0-9_.-]*:[0-9]{4,5}:(?:\*|[A-Za-z_][A-Za-z0-9_.$-]*):(?:\*|[A-Za-z_][A-Za-z0-9_.$@-]*):(?P<s>[^\s"'`]{6,})"#),
    // netrc and SQL: the password follows its keyword without a sign between.
    filled("PASSWORD", r"(?i)login\s", r"(?i)(?-u:\b)login\s+\S+\s+password\s+(?P<s>\S+)"),
    filled("PASSWORD", r"(?i)identified\s|password\s+'", r#"(?i)(?-u:\b)(?:identified(?:\s+with\s+\S+)?\s+by|password)\s+'(?P<s>[^'\n]+)'"#),
    // Prose.
    random("PASSWORD", r"(?i)(?:password|passwd|passphrase|passcode|pwd|secret|token|key)\s+(?:is|was)", r#"(?i)(?-u:\b)(?:password|passwd|passphrase|passcode|pwd|secret|token|(?:api|access|secret|private)[ _-]?key)\s+(?:is|was)(?:\s+now|\s+set\s+to)?[ \t:]+["'`]?(?P<s>[^\s"'`]{4,})"#),
];
