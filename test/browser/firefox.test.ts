// The page in Firefox, whose own styles are not Chromium's.
import { expect, setDefaultTimeout, test } from "bun:test";
import { PATIENCE, until } from "../support/patience.ts";
import { openProgram } from "../support/program.ts";
import { HAS_FIREFOX, openFirefox } from "./firefox.ts";

setDefaultTimeout(PATIENCE);

const PASSWORD = "correct horse battery";

test.skipIf(!HAS_FIREFOX)("in Firefox the hint in an empty field is as dark as other small print", async () => {
  const program = openProgram();
  const { address } = await program.serve();
  await program.run(["user", "create", "ann", "--password-stdin"], `${PASSWORD}\n`);
  await program.run(["subscription", "add", "ann", "https://a.example/feed"]);
  const firefox = await openFirefox();
  try {
    await firefox.goto(`${address}/`);
    const form = "document.querySelector('form')";
    await firefox.evaluate(`Object.assign(${form}.elements.name, { value: "ann" }) && null`);
    await firefox.evaluate(`Object.assign(${form}.elements.password, { value: "${PASSWORD}" }) && null`);
    await firefox.evaluate(`${form}.requestSubmit()`);
    await until(() => firefox.evaluate("document.querySelector('[type=search]') !== null").then(Boolean, () => false));
    const styleOf = (selector: string, part: string | null) =>
      firefox.evaluate(
        `(({ color, opacity }) => ({ color, opacity }))(getComputedStyle(document.querySelector("${selector}"), ${part}))`,
      );
    expect(await styleOf("input[type=search]", "'::placeholder'")).toEqual(await styleOf(".muted", null));
  } finally {
    await firefox.close();
    program.close();
  }
});
