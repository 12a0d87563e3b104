// The script of the sign-in and of the page for a new password. The page provides its texts as data attributes.
"use strict";

const lang = document.documentElement.lang;
const texts = document.body.dataset;
const title = document.title.split(" · ").pop();
/** Set by the page for a new password, read by the sign-in. */
const SAVED = "password-saved";
/** Set when another language is chosen, read by the page in that language. */
const TYPED = `typed${location.pathname}`;

/** Uses the storage of this tab. Returns null if the browser blocks it, as it may block all site data. */
function inStorage(use) {
  try {
    return use(sessionStorage);
  } catch {
    return null;
  }
}

/** Sends a form; never throws. Status 0 means that no response arrived. */
async function post(path, members) {
  try {
    const response = await fetch(`/api/auth/${path}`, {
      method: "POST",
      headers: { Accept: "application/json" },
      body: new URLSearchParams(members),
      // The page sends no referrer to other sites, but the server compares the origin.
      referrerPolicy: "same-origin",
    });
    const body = await response.json().catch(() => ({}));
    return { status: response.status, wait: Number(response.headers.get("Retry-After")) || 60, body };
  } catch {
    return { status: 0, wait: 0, body: {} };
  }
}

function duration(seconds) {
  const [unit, number] = seconds < 90 ? ["second", seconds] : ["minute", Math.ceil(seconds / 60)];
  return new Intl.NumberFormat(lang, { style: "unit", unit, unitDisplay: "long" }).format(number);
}

/** Returns the message for a response that no form expects. */
function trouble(answer) {
  if (answer.status === 0) return texts.offline;
  if (answer.status === 429) return texts.tooMany.replace("{wait}", duration(answer.wait));
  return texts.failed;
}

/** Shows one view. With `focus`, moves the focus to its heading, so that screen readers announce it. */
function show(name, focus = true) {
  for (const view of document.querySelectorAll("[data-view]")) view.hidden = view.dataset.view !== name;
  const heading = document.querySelector(`[data-view="${name}"] h1`);
  if (!heading) return;
  document.title = `${heading.textContent} · ${title}`;
  if (focus) heading.focus();
}

function alertIn(element, text) {
  const note = element.querySelector("[role=alert]");
  note.textContent = "";
  // Screen readers announce a repeated text only if it is inserted anew.
  if (text) requestAnimationFrame(() => { note.textContent = text; });
}

function mark(input, problem) {
  document.getElementById(`${input.id}-problem`).textContent = problem;
  if (problem) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

/** Shows the problem of each input, and focuses the first input with one. Returns whether there is none. */
function check(...checks) {
  let first = null;
  for (const [input, problem] of checks) {
    mark(input, problem);
    if (problem) first ??= input;
  }
  first?.focus();
  return !first;
}

function emailProblem(input) {
  if (!input.value.trim()) return texts.emailMissing;
  return input.validity.typeMismatch ? texts.emailMalformed : "";
}

/** Calls `send` when a form is submitted, never twice at the same time. */
function onSubmit(form, send) {
  form.querySelectorAll("button").forEach((button) => { button.disabled = false; });
  form.addEventListener("input", (event) => {
    if (event.target.hasAttribute("aria-invalid")) mark(event.target, "");
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.ariaBusy === "true") return;
    form.ariaBusy = "true";
    try {
      await send();
    } finally {
      form.ariaBusy = "false";
    }
  });
}

for (const button of document.querySelectorAll(".reveal")) {
  const inputs = button.getAttribute("aria-controls").split(" ").map((id) => document.getElementById(id));
  const reveal = (visible) => {
    for (const input of inputs) input.type = visible ? "text" : "password";
    button.textContent = visible ? texts.hide : texts.show;
    button.ariaLabel = visible ? texts.hidePassword : texts.showPassword;
  };
  button.addEventListener("click", () => reveal(inputs[0].type === "password"));
  // A visible password must be neither sent nor remembered as plain text.
  button.form.addEventListener("submit", () => reveal(false));
}

/** Returns the inputs whose contents another language keeps. A password is never among them, not even a visible one. */
function keptInputs() {
  return [...document.querySelectorAll("input[type=email], input[type=checkbox]")];
}

/** Keeps in this tab what was typed while the page is loaded in another language. */
function keepTyped() {
  for (const link of document.querySelectorAll("nav a")) {
    link.addEventListener("click", () => {
      const typed = keptInputs().map((input) => (input.type === "checkbox" ? input.checked : input.value));
      inStorage((storage) => storage.setItem(TYPED, JSON.stringify(typed)));
    });
  }
  const typed = JSON.parse(inStorage((storage) => storage.getItem(TYPED)) ?? "[]");
  inStorage((storage) => storage.removeItem(TYPED));
  for (const [index, input] of keptInputs().entries()) {
    if (typeof typed[index] === "boolean") input.checked = typed[index];
    else if (typed[index]) input.value = typed[index];
  }
}

function startLogin(form) {
  const { email, password, tenantId } = form.elements;
  const view = form.closest("[data-view]");
  const chooser = document.querySelector('[data-view="choose"]');

  const enter = (answer) => {
    if (answer.body.redirect) location.assign(answer.body.redirect);
    else show("signed-in");
  };

  const send = async (tenant) => {
    const members = new URLSearchParams(new FormData(form));
    if (tenant) members.set("tenantId", tenant);
    for (const name of ["tenantId", "redirect"]) if (!members.get(name)) members.delete(name);
    return post("login", members);
  };

  const refuse = (answer) => {
    show("sign-in", false);
    if (answer.status === 401) {
      password.value = "";
      alertIn(view, texts.wrong);
    } else {
      alertIn(view, answer.status === 403 ? texts.forbidden : trouble(answer));
    }
    password.focus();
  };

  const choose = (tenants) => {
    const choices = tenants.map(({ id, name }) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", async () => {
        if (chooser.ariaBusy === "true") return;
        chooser.ariaBusy = "true";
        const answer = await send(id);
        chooser.ariaBusy = "false";
        if (answer.status === 200) enter(answer);
        else refuse(answer);
      });
      const item = document.createElement("li");
      item.append(button);
      return item;
    });
    chooser.querySelector("ul").replaceChildren(...choices);
    show("choose");
  };

  onSubmit(form, async () => {
    alertIn(view, "");
    if (!check([email, emailProblem(email)], [password, password.value ? "" : texts.passwordMissing])) return;
    if (!navigator.cookieEnabled) {
      alertIn(view, texts.noCookies);
      return;
    }
    const answer = await send(tenantId.value);
    if (answer.status === 200) enter(answer);
    else if (answer.body.code === "tenant_required") choose(answer.body.tenants);
    else refuse(answer);
  });
  document.getElementById("back").addEventListener("click", () => show("sign-in"));

  // Without cookies the session would be lost at once.
  if (!navigator.cookieEnabled) alertIn(view, texts.noCookies);
  if (inStorage((storage) => storage.getItem(SAVED))) {
    inStorage((storage) => storage.removeItem(SAVED));
    const note = document.getElementById("saved");
    requestAnimationFrame(() => { note.textContent = note.dataset.text; });
  }
}

function startReset(request, form) {
  const { email } = request.elements;
  const { password, repeat } = form.elements;
  const unchecked = document.querySelector('[data-view="unchecked"]');
  let token = null;

  const ask = (view, focus) => {
    token = null;
    show(view, focus);
    request.hidden = false;
  };

  const validate = async () => {
    show("checking");
    alertIn(unchecked, "");
    const answer = await post("reset/validate", { token });
    if (answer.status !== 200) {
      show("unchecked");
      return alertIn(unchecked, trouble(answer));
    }
    if (!answer.body.valid) return ask("dead");
    show("new", false);
    password.focus();
  };

  const takeToken = (isFirst) => {
    token = new URLSearchParams(location.hash.slice(1)).get("token");
    // The token must not remain in the address bar or in the history.
    history.replaceState(null, "", location.pathname + location.search);
    request.hidden = true;
    if (token === null) ask("request", !isFirst);
    else validate();
  };

  onSubmit(request, async () => {
    alertIn(request, "");
    if (!check([email, emailProblem(email)])) return;
    const answer = await post("reset", { email: email.value.trim() });
    if (answer.status === 200) {
      request.hidden = true;
      show("sent");
    } else {
      alertIn(request, answer.status === 500 ? texts.noMail : trouble(answer));
    }
  });

  onSubmit(form, async () => {
    const said = form.dataset;
    alertIn(form, "");
    const differs = password.value && repeat.value !== password.value ? said.differs : "";
    if (!check([password, password.value ? "" : said.newPasswordMissing], [repeat, differs])) return;
    const answer = await post("reset/confirm", { token, password: password.value });
    if (answer.status === 200) {
      inStorage((storage) => storage.setItem(SAVED, "true"));
      location.assign(answer.body.redirect || document.getElementById("to-sign-in").href);
    } else if (answer.body.code === "password_policy") {
      const reasons = {
        too_short: said.tooShort, too_long: said.tooLong, too_common: said.tooCommon, equals_email: said.equalsEmail,
      };
      check([password, reasons[answer.body.details?.[0]?.code] ?? said.refused]);
    } else if (answer.status === 400) {
      ask("dead");
    } else {
      alertIn(form, trouble(answer));
    }
  });

  // A link to another language gets the token in its fragment, which the redirect back keeps.
  for (const link of document.querySelectorAll("nav a")) {
    link.addEventListener("click", () => { link.hash = token === null ? "" : new URLSearchParams({ token }).toString(); });
  }
  document.getElementById("retry").addEventListener("click", validate);
  addEventListener("hashchange", () => takeToken(false));
  takeToken(true);
}

function startHome(home, button) {
  button.disabled = false;
  button.addEventListener("click", async () => {
    if (home.ariaBusy === "true") return;
    home.ariaBusy = "true";
    alertIn(home, "");
    const options = { method: "POST", redirect: "manual", referrerPolicy: "same-origin" };
    const response = await fetch("/api/auth/logout", options).catch(() => null);
    home.ariaBusy = "false";
    // The redirect is not followed, because the sign-in may be on another site. Status 401: there is no session to end.
    if (response?.type === "opaqueredirect" || response?.status === 401) location.assign(button.dataset.signIn);
    else alertIn(home, response ? texts.failed : texts.offline);
  });
}

keepTyped();
const home = document.getElementById("home");
if (home) startHome(home, document.getElementById("sign-out"));
const login = document.getElementById("login");
if (login) startLogin(login);
const request = document.getElementById("request");
if (request) startReset(request, document.getElementById("new"));
