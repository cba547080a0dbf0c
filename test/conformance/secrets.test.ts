// What of a run's secrets could be in a report that is pasted into a public issue, and what must not be hidden there.
import { expect, test } from "bun:test";
import { Secrets } from "../../src/conformance/secrets.ts";

test("a secret is hidden as JSON of PHP or Python, as HTML, and as part of a URL has it", () => {
  const secrets = new Secrets();
  const secret = 'grün/"x"&y z';
  secrets.add(secret);
  for (const written of [
    secret,
    JSON.stringify(secret),
    'gr\\u00fcn\\/\\"x\\"&y z',
    "grün/&quot;x&quot;&amp;y z",
    "gr%C3%BCn%2F%22x%22%26y%20z",
    "gr%c3%bcn%2f%22x%22%26y%20z",
  ]) {
    expect(secrets.hide(`before ${written} after`)).not.toMatch(/gr|22x|y|x/);
  }
});

test("Basic is hidden to its end in JSON that escapes slashes", () => {
  const secrets = new Secrets();
  secrets.add("AAAA/BBBB/CCCC==");
  expect(secrets.hide('{"sent":"Basic AAAA\\/BBBB\\/CCCC=="}')).toBe('{"sent":"Basic ***"}');
});

test("words that a server writes into cookies and tokens stay readable in the rest of a report", () => {
  const secrets = new Secrets();
  const headers = new Headers();
  for (const value of ["lax=true", "session=deleted; Max-Age=0", "other=s3cret"]) headers.append("Set-Cookie", value);
  secrets.learn(headers, '{"token_type":"Bearer","token":null,"csrf_token":"none"}');
  const text = "expected true, got none with `deleted`: WWW-Authenticate does not name Bearer";
  expect(secrets.hide(`${text}, s3cret`)).toBe(`${text}, ***`);
});
