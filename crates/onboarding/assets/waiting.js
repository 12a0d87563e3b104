// The script of the page that waits for the mail and for the tenant. It asks for the status of the request, and changes the page only when the status
// has changed: the focus and the position of a screen reader stay where they are. Browsers that execute no script load the page again instead.
"use strict";

const page = document.getElementById("progress");

/** Returns the page as the server shows it now. */
async function currentPage() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

/** Shows the contents of another state of the page. Screen readers announce the changed text of the element with the role `status`. */
function show(current) {
  const next = current.getElementById("progress");
  const more = page.querySelector(".more");
  const hadFocus = more.contains(document.activeElement);
  document.title = current.title;
  more.replaceChildren(...next.querySelector(".more").childNodes);
  for (const part of ["h1", "[role=status]"]) page.querySelector(part).textContent = next.querySelector(part).textContent;
  // The link with the focus does not exist any more.
  if (hadFocus) page.querySelector("h1").focus();
  for (const name of ["status", "seconds"]) {
    if (name in next.dataset) page.dataset[name] = next.dataset[name];
    else delete page.dataset[name];
  }
}

async function look() {
  let pause = 0;
  try {
    const response = await fetch("/api/onboarding/onboarding/status", { headers: { Accept: "application/json" } });
    if (response.status === 429) {
      pause = Number(response.headers.get("Retry-After")) || 60;
    } else if (response.status < 500) {
      const { status, loginUrl } = await response.json();
      if (loginUrl) {
        location.assign(loginUrl);
        return;
      }
      if (status !== page.dataset.status) show(await currentPage());
    }
  } catch {
    // The server can't be reached at the moment.
  }
  lookLater(pause);
}

/** Looks again after the seconds of the page, or after a longer pause. A page in its last state has no status. */
function lookLater(pause) {
  if (page.dataset.status) setTimeout(look, Math.max(pause, Number(page.dataset.seconds)) * 1000);
}

lookLater(0);
