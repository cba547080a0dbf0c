// "Try it" in the API reference: sends requests with a token that stays in its field.
for (const part of document.querySelectorAll("[data-try]")) part.hidden = false;

/** The request that a form describes; the token comes with the second argument. */
function readForm(form, token) {
  let path = form.getAttribute("action");
  const query = new URLSearchParams();
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  for (const { name, value, dataset } of form.elements) {
    if (dataset.in === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
    if (dataset.in === "query" && value) query.set(name, value);
    if (dataset.in === "header" && value) headers[name] = value;
  }
  const body = form.elements.body?.value;
  if (body) headers["Content-Type"] = "application/json";
  return { url: new URL(query.size ? `${path}?${query}` : path, location.href).href, headers, body };
}

const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The same request for a terminal. */
function curl(method, { url, headers, body }) {
  const sent = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  return ["curl -i", method === "GET" ? "" : `-X ${method}`, ...sent, body ? `-d ${quote(body)}` : "", quote(url)]
    .filter(Boolean)
    .join(" ");
}

async function describe(response) {
  const text = await response.text();
  const head = [
    `${response.status} ${response.statusText}`.trim(),
    ...[...response.headers].map((one) => one.join(": ")),
  ];
  const isJson = response.headers.get("Content-Type")?.includes("json");
  return `${head.join("\n")}\n\n${text && isJson ? JSON.stringify(JSON.parse(text), null, 2) : text}`;
}

for (const form of document.querySelectorAll("[data-try] form")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { method, failed } = form.dataset;
    const { url, headers, body } = readForm(form, document.getElementById("token").value.trim());
    const shown = curl(method, readForm(form, "TOKEN"));
    const sent = fetch(url, { method, headers, body, cache: "no-store", credentials: "omit" });
    const answer = await sent.then(describe).catch(() => failed);
    const output = form.querySelector("output");
    const [response, command] = output.children;
    response.textContent = answer;
    command.textContent = shown;
    output.hidden = false;
    form.removeAttribute("aria-busy");
  });
}
