// Comfort for browsers with JavaScript: local times, copy buttons. Every page works without it.

// The zone of days in the history of listening.
// biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API needs https
document.cookie = `zone=${Intl.DateTimeFormat().resolvedOptions().timeZone}; path=/; max-age=31536000; samesite=lax`;

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const UNITS = [
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];

/** By the calendar: words such as "yesterday" are about that. */
const daysTo = (date) => Math.round((new Date(date).setHours(0, 0, 0, 0) - new Date().setHours(0, 0, 0, 0)) / 86400000);

/** "today 18:02" or "yesterday 18:02"; nothing for earlier days. */
function clock(date) {
  const days = daysTo(date);
  if (days < -1 || days > 0) return;
  return `${relative.format(days, "day")} ${date.toLocaleTimeString(undefined, { timeStyle: "short" })}`;
}

for (const element of document.querySelectorAll("time")) {
  const date = new Date(element.dateTime);
  const exact = date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  const ago = (date - Date.now()) / 1000;
  const unit = UNITS.find(([, seconds]) => Math.abs(ago) >= seconds);
  const { format } = element.dataset;
  element.lang = relative.resolvedOptions().locale;
  element.dir = "auto";
  element.title = exact;
  if (format === "day") element.textContent = date.toLocaleDateString(undefined, { dateStyle: "medium" });
  else if (format === "clock") element.textContent = clock(date) ?? exact;
  // What is still to come is in the past, and this browser's clock behind.
  else if (ago < -7 * 86400 || ago >= 60) element.textContent = exact;
  else {
    const [name, seconds] = unit ?? ["second", Number.POSITIVE_INFINITY];
    element.textContent = relative.format(name === "day" ? daysTo(date) : Math.trunc(ago / seconds), name);
    // The title is for pointers; screen readers say this.
    element.ariaLabel = `${element.textContent}, ${exact}`;
  }
}

/** Without https there is no clipboard API, and some browsers refuse it: selects the text, and copies the selection. */
async function copy(button) {
  const isCopied = await navigator.clipboard?.writeText(button.dataset.copy).then(
    () => true,
    () => false,
  );
  if (isCopied) return true;
  getSelection().selectAllChildren(button.previousElementSibling);
  return document.execCommand("copy");
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  const text = button.textContent;
  button.addEventListener("click", async () => {
    if (!(await copy(button))) return;
    button.ariaLive = "polite";
    button.textContent = button.dataset.done;
    setTimeout(() => {
      // Screen readers would read it as they read what was done.
      button.ariaLive = "off";
      button.textContent = text;
    }, 2000);
  });
}

for (const button of document.querySelectorAll("button[data-reveal]")) {
  button.hidden = false;
  const field = document.getElementById(button.dataset.reveal);
  const texts = { password: button.textContent, text: button.dataset.done };
  button.addEventListener("click", () => {
    field.type = field.type === "password" ? "text" : "password";
    button.textContent = texts[field.type];
  });
}

/** Milliseconds after which a form without a response can be sent again. */
const PATIENCE = 10_000;
/** When forms were sent. */
const sent = new Map();

// Marks a form whose response is on its way, and sends it once: the second click of a double click would get the response
// that all is done already.
addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method === "post" && performance.now() - sent.get(form) < PATIENCE) return event.preventDefault();
  form.setAttribute("aria-busy", "true");
  sent.set(form, performance.now());
});
// The Back button may show the page as it was left.
addEventListener("pageshow", async ({ persisted }) => {
  for (const form of sent.keys()) form.removeAttribute("aria-busy");
  sent.clear();
  if (!persisted) return;
  // Safari keeps pages that came by http, although they are not to be stored: with what was chosen there, and for those who
  // have signed out, or in as another user.
  for (const { form } of document.querySelectorAll("select[autocomplete=off]")) form.reset();
  const response = await fetch(location.href, { redirect: "manual" });
  const { body } = new DOMParser().parseFromString(await response.text(), "text/html");
  // With the fragment of the link to the content it would only scroll.
  if (body.dataset.user !== document.body.dataset.user) location.replace(location.pathname + location.search);
});

for (const label of document.querySelectorAll("label[data-local]")) {
  label.textContent = label.dataset.local;
  const { form } = label.control;
  form.addEventListener("submit", () => {
    // getTimezoneOffset() is another one if the clock skipped this time.
    const { value } = label.control;
    form.elements.zone.value = Math.round((new Date(value) - new Date(`${value}Z`)) / 60_000);
  });
}

/** As the server searches: in capitals, without soft hyphens and others without width. */
const searched = (text) =>
  text
    .normalize()
    .replace(/\p{DI}/gu, "")
    .toUpperCase()
    .replace(/\u0130|I\u0307/g, "I");

// Filters a whole list while somebody types; without JavaScript the server does.
for (const field of document.querySelectorAll("input[data-filter]")) {
  const rows = [...document.querySelectorAll(".links > li")];
  const names = rows.map((row) =>
    searched([...row.querySelectorAll("bdi, small")].map((one) => one.textContent).join(" ")),
  );
  const count = field.form.querySelector("output");
  const filter = () => {
    const words = searched(field.value).split(/\s+/);
    let shown = 0;
    rows.forEach((row, n) => {
      row.hidden = !words.every((word) => names[n].includes(word));
      if (!row.hidden) shown++;
    });
    count.textContent = shown === rows.length ? "" : field.dataset.filter.replace("#", shown);
  };
  field.addEventListener("input", filter);
  // The Back button brings what was typed back.
  addEventListener("pageshow", filter);
}
