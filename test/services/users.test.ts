// Users and their ids.
import { expect, test } from "bun:test";
import { createUser, deleteUser } from "../../src/services/users.ts";
import { openTestApp } from "../support/app.ts";

test("a user whose id would be another user's gets another one", async () => {
  const podkeep = await openTestApp();
  const drawn = ["aaaaaa", "aaaaaa", "bbbbbb"];
  const context = { ...podkeep.app, ids: { random: () => drawn.shift() ?? "" } };
  expect((await createUser(context, "ann")).public_id).toBe("aaaaaa");
  expect((await createUser(context, "bob")).public_id).toBe("bbbbbb");
  await podkeep.close();
});

test("the number of a deleted user is not given again", async () => {
  const podkeep = await openTestApp();
  const { id } = await createUser(podkeep.app, "ann");
  await deleteUser(podkeep.app, "ann");
  expect((await createUser(podkeep.app, "bob")).id).not.toBe(id);
  await podkeep.close();
});
