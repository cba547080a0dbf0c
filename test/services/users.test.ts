// Users and their ids.
import { expect, test } from "bun:test";
import { createUser } from "../../src/services/users.ts";
import { openTestApp } from "../support/app.ts";

test("a user whose id would be another user's gets another one", async () => {
  const podkeep = await openTestApp();
  const drawn = ["aaaaaa", "aaaaaa", "bbbbbb"];
  const context = { ...podkeep.app, ids: { random: () => drawn.shift() ?? "" } };
  expect((await createUser(context, "ann")).id).toBe("aaaaaa");
  expect((await createUser(context, "bob")).id).toBe("bbbbbb");
  await podkeep.close();
});
