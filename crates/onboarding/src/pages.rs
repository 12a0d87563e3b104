//! The pages: the form, and the wait for the tenant. None needs a script; the one that waits has a script that spares the visitor loading it again.

use std::sync::Arc;

use actix_web::http::header::{HeaderValue, REFERRER_POLICY, RETRY_AFTER};
use actix_web::http::uri::PathAndQuery;
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use backoffice_auth::{Accounts, PageContent, PageFile, PageFiles, Visit, is_mail_configured, notice_html};
use backoffice_core::http::{PageNotice, Pages, Raw, Response, rejection_page};
use backoffice_core::{Call, Detail, Error, Platform, Rejection, Result, Runtime};

use crate::form::Submission;
use crate::http::cookie_token;
use crate::model::{COMPLETED, FAILED, PENDING, PROCESSING};
use crate::sign_up::{self, CONFIRMED, FORM, PREPARING, SignUp, VERIFY};
use crate::texts::{PageTexts, Texts};
use crate::token::Token;
use crate::{query, token};

/// Seconds after which the page that waits for the mail looks again.
const LOOK_FOR_MAIL: u32 = 5;
/// Seconds after which the page that waits for the tenant looks again.
const LOOK_FOR_TENANT: u32 = 2;
/// The script of the page that waits.
const WAITING: &str = "waiting.js";
const FILES: PageFiles = PageFiles {
    module: "onboarding",
    files: &[PageFile {
        name: WAITING,
        content_type: "text/javascript; charset=utf-8",
        content: include_str!("../assets/waiting.js"),
    }],
};

pub(crate) fn pages(pages: &mut Pages<'_>) {
    let Some(sign_up) = pages.platform().provided().get::<SignUp>() else {
        return;
    };
    if !sign_up.config.enabled {
        return;
    }
    FILES.declare(pages);
    let of_form = Arc::clone(&sign_up);
    pages.get(FORM, move |request: HttpRequest, runtime: web::Data<Runtime>| {
        let sign_up = Arc::clone(&of_form);
        async move { response(start(&sign_up, &runtime, &request).await.map(with_origin)) }
    });
    pages.get(PREPARING, move |request: HttpRequest, runtime: web::Data<Runtime>| {
        let sign_up = Arc::clone(&sign_up);
        async move { response(preparing(&sign_up, &runtime, &request).await) }
    });
}

/// Browsers send the origin of a form only from pages that send a referrer.
fn with_origin(mut page: Raw) -> Raw {
    let policy = (REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    page.headers.push(policy);
    page
}

fn response(page: Result<Raw>) -> HttpResponse {
    match page {
        Ok(page) => page.into_response(),
        Err(error) => {
            tracing::warn!(%error, "page failed");
            HttpResponse::ServiceUnavailable()
                .insert_header((RETRY_AFTER, "5"))
                .content_type("text/plain; charset=utf-8")
                .body("Service Unavailable")
        }
    }
}

fn rendered<T: Template>(template: &T) -> Result<String> {
    template
        .render()
        .map_err(|error| Error::internal(format!("could not render a page: {error}")))
}

/// A field of the form.
struct Field<'a> {
    name: &'static str,
    label: &'static str,
    input_type: &'static str,
    autocomplete: &'static str,
    value: &'a str,
    hint: Option<&'a str>,
    problem: Option<String>,
    has_focus: bool,
}

/// A box of the form.
struct Tick {
    name: &'static str,
    label: &'static str,
    is_ticked: bool,
    is_required: bool,
    problem: Option<String>,
    has_focus: bool,
}

#[derive(Template)]
#[template(path = "form.html")]
struct FormPage<'a> {
    texts: &'static PageTexts,
    fields: Vec<Field<'a>>,
    boxes: Vec<Tick>,
    locale: &'static str,
    /// Makes further submissions of this form one request.
    token: String,
    note: Option<&'static str>,
    login: String,
}

/// Writes the page with the empty form, or the advice that persons can't sign up now.
async fn start(sign_up: &SignUp, runtime: &Runtime, request: &HttpRequest) -> Result<Raw> {
    let call = Call::internal(runtime);
    let visit = sign_up.visit(&call, request).await?;
    if is_mail_configured(&call) {
        return form(&call, request, &visit, StatusCode::OK, &Submission::default(), &[]);
    }
    let texts = &Texts::of(visit.language_code()).pages;
    let page = PageNotice {
        title: texts.sign_up_title,
        text: texts.unavailable,
        links: vec![(texts.to_sign_in, sign_up::login_url(call.platform(), None))],
    };
    notice(&visit, StatusCode::OK, &page, None, FORM)
}

/// Writes the page with the form, with the given values and the problems with them. Passwords are not shown again.
pub(crate) fn form(
    call: &Call,
    request: &HttpRequest,
    visit: &Visit<'_>,
    status: StatusCode,
    given: &Submission,
    details: &[Detail],
) -> Result<Raw> {
    let platform = call.platform();
    let texts = Texts::of(visit.language_code());
    let accounts = platform.provided().get::<Accounts>();
    let length = accounts.map_or((8, 256), |accounts| accounts.password_length());
    let rules = with_length(texts.pages.password_rules, length);
    let problem = |name: &str| {
        let detail = details.iter().find(|detail| detail.path == name)?;
        Some(with_length(texts.pages.problem(name, &detail.code), length))
    };
    let field = |name, label, input_type, autocomplete, value| Field {
        name,
        label,
        input_type,
        autocomplete,
        value,
        hint: (name == "password").then_some(rules.as_str()),
        problem: problem(name),
        has_focus: false,
    };
    let page = &texts.pages;
    let mut fields = vec![
        field("email", page.email, "email", "email", &given.email),
        field("firstName", page.first_name, "text", "given-name", &given.first_name),
        field("lastName", page.last_name, "text", "family-name", &given.last_name),
        field(
            "organizationName",
            page.organization,
            "text",
            "organization",
            &given.organization_name,
        ),
        field("password", page.password, "password", "new-password", ""),
        field("confirmPassword", page.repeat, "password", "new-password", ""),
    ];
    let mut boxes = vec![
        Tick {
            name: "termsAccepted",
            label: page.terms,
            is_ticked: given.terms_accepted.0,
            is_required: true,
            problem: problem("termsAccepted"),
            has_focus: false,
        },
        Tick {
            name: "marketingConsent",
            label: page.marketing,
            is_ticked: given.marketing_consent.0,
            is_required: false,
            problem: None,
            has_focus: false,
        },
    ];
    focus_first_problem(&mut fields, &mut boxes);
    let is_invalid_link = details.is_empty() && request.query_string().split('&').any(|part| part == "status=invalid");
    let note = match (is_invalid_link, details.is_empty()) {
        (true, _) => Some(page.invalid_link),
        (_, false) => Some(page.correct_fields),
        _ => None,
    };
    let html = rendered(&FormPage {
        texts: page,
        fields,
        boxes,
        locale: texts.code,
        token: Token::mint(platform.ids()).clear().to_owned(),
        note,
        login: sign_up::login_url(platform, None),
    })?;
    let content = PageContent {
        title: page.sign_up_title,
        html,
        here: Some(FORM.to_owned()),
        form: Some("sign-up"),
        ..PageContent::default()
    };
    visit.page(status, &content)
}

/// Lets the browser focus the first field or box with a problem.
fn focus_first_problem(fields: &mut [Field<'_>], boxes: &mut [Tick]) {
    if let Some(field) = fields.iter_mut().find(|field| field.problem.is_some()) {
        field.has_focus = true;
    } else if let Some(tick) = boxes.iter_mut().find(|tick| tick.problem.is_some()) {
        tick.has_focus = true;
    }
}

fn with_length(text: &str, (min, max): (usize, usize)) -> String {
    text.replace("{min}", &min.to_string())
        .replace("{max}", &max.to_string())
}

#[derive(Template)]
#[template(path = "password.html")]
struct PasswordPage<'a> {
    texts: &'static PageTexts,
    token: &'a str,
    is_wrong: bool,
}

/// Writes the page that asks for the password of the submission.
pub(crate) async fn password(
    sign_up: &SignUp,
    call: &Call,
    request: &HttpRequest,
    status: StatusCode,
    token: &str,
    is_wrong: bool,
) -> Result<Raw> {
    let visit = sign_up.visit(call, request).await?;
    let texts = &Texts::of(visit.language_code()).pages;
    let html = rendered(&PasswordPage { texts, token, is_wrong })?;
    let content = PageContent {
        title: texts.verify_title,
        html,
        here: Some(format!("{VERIFY}?token={token}")),
        ..PageContent::default()
    };
    visit.page(status, &content)
}

/// Writes a page with a text, which `here` shows in another language.
fn notice(
    visit: &Visit<'_>,
    status: StatusCode,
    page: &PageNotice,
    refresh: Option<(u32, String)>,
    here: &str,
) -> Result<Raw> {
    let content = PageContent {
        title: page.title,
        html: notice_html(page)?,
        refresh,
        here: Some(here.to_owned()),
        ..PageContent::default()
    };
    visit.page(status, &content)
}

/// Writes a page that leads to an address at once.
pub(crate) async fn leading_to(
    sign_up: &SignUp,
    call: &Call,
    request: &HttpRequest,
    status: StatusCode,
    address: String,
) -> Result<Raw> {
    let visit = sign_up.visit(call, request).await?;
    let texts = &Texts::of(visit.language_code()).pages;
    let page = PageNotice {
        title: texts.leading_title,
        text: texts.leading_text,
        links: vec![(texts.go_on, address.clone())],
    };
    notice(&visit, status, &page, Some((0, address)), FORM)
}

/// Writes a rejection as a page; `None` for a client that does not ask for HTML.
pub(crate) fn rejection(call: &Call, request: &HttpRequest, rejection: &Rejection) -> Option<Raw> {
    rejection_page(call, request, rejection, &|language: &str| {
        let texts = &Texts::of(language).pages;
        let of_link = request.path() == VERIFY;
        let here = request.uri().path_and_query().map_or(VERIFY, PathAndQuery::as_str);
        let text = match rejection.status {
            StatusCode::TOO_MANY_REQUESTS if of_link => texts.too_many_uses,
            StatusCode::TOO_MANY_REQUESTS => texts.too_many,
            StatusCode::NOT_FOUND => texts.unavailable,
            status if status.is_server_error() => texts.unavailable,
            _ => texts.unreadable,
        };
        PageNotice {
            title: if of_link {
                texts.verify_title
            } else {
                texts.rejected_title
            },
            text,
            links: match rejection.status {
                StatusCode::NOT_FOUND => Vec::new(),
                _ if of_link && *request.method() == Method::GET => vec![(texts.open_again, here.to_owned())],
                // The token was in the form.
                _ if of_link => Vec::new(),
                _ => vec![(texts.again, FORM.to_owned())],
            },
        }
    })
}

/// Whether the browser has confirmed a request that it need not have submitted.
fn has_confirmed(request: &HttpRequest) -> bool {
    request.query_string().split('&').any(|part| part == "status=confirmed")
}

/// The contents of the page that waits. Its script shows those of another status in their place.
#[derive(Template)]
#[template(path = "waiting.html")]
struct WaitingPage {
    title: &'static str,
    text: &'static str,
    /// What the visitor may do if the text does not fit their case.
    hint: Option<&'static str>,
    links: Vec<(&'static str, String)>,
    /// The status that may change, and the seconds after which the script looks.
    waits: Option<(&'static str, u32)>,
}

impl WaitingPage {
    /// Returns the address that a browser opens by itself, and after how many seconds.
    fn refresh(&self, platform: &Platform, status: Option<&str>) -> Option<(u32, String)> {
        match (self.waits, status) {
            (Some((_, seconds)), _) => Some((seconds, sign_up::public(platform, PREPARING))),
            (None, Some(COMPLETED)) => self.links.first().map(|(_, login)| (0, login.clone())),
            _ => None,
        }
    }
}

/// Writes the page that waits for the mail and for the tenant of the request whose status token is in the cookie.
async fn preparing(sign_up: &SignUp, runtime: &Runtime, request: &HttpRequest) -> Result<Raw> {
    let call = Call::internal(runtime);
    let platform = call.platform();
    let visit = sign_up.visit(&call, request).await?;
    let texts = &Texts::of(visit.language_code()).pages;
    let sign_in = |tenant| (texts.to_sign_in, sign_up::login_url(platform, tenant));
    if has_confirmed(request) {
        let page = PageNotice {
            title: texts.elsewhere_title,
            text: texts.elsewhere_text,
            links: vec![sign_in(None)],
        };
        return notice(&visit, StatusCode::OK, &page, None, CONFIRMED);
    }
    let stored = match cookie_token(&call, request).and_then(|token| token::hash_of(&token)) {
        Some(hash) => query::by_status_token(&call, &hash).await?,
        None => None,
    };
    let status = stored.as_ref().map(|stored| stored.request.status_at(call.now));
    let again = || (texts.again, FORM.to_owned());
    let (title, text, links) = match status {
        Some(PENDING) => (texts.sent_title, texts.sent_text, vec![again()]),
        Some(PROCESSING) => (texts.preparing_title, texts.preparing_text, vec![]),
        Some(COMPLETED) => {
            let tenant = stored.as_ref().and_then(|stored| stored.request.new_tenant_id);
            (texts.ready_title, texts.ready_text, vec![sign_in(tenant)])
        }
        Some(FAILED) => (texts.failed_title, texts.failed_text, vec![again()]),
        // The cookie lives as long as the request can be confirmed.
        None => (texts.unknown_title, texts.unknown_text, vec![sign_in(None), again()]),
        Some(_) => (texts.expired_title, texts.expired_text, vec![again()]),
    };
    let page = WaitingPage {
        title,
        text,
        hint: (status == Some(PENDING)).then_some(texts.sent_hint),
        links,
        waits: match status {
            Some(PENDING) => Some((PENDING, LOOK_FOR_MAIL)),
            Some(PROCESSING) => Some((PROCESSING, LOOK_FOR_TENANT)),
            _ => None,
        },
    };
    let content = PageContent {
        title,
        html: rendered(&page)?,
        refresh: page.refresh(platform, status),
        script: page.waits.map(|_| FILES.address(WAITING)),
        here: Some(PREPARING.to_owned()),
        form: None,
    };
    visit.page(StatusCode::OK, &content)
}
