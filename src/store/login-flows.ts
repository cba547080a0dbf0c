// Statements on login flows.
import { statement } from "../db/statement.ts";

export const deleteLoginFlows = statement((db, p: { user_id: string }) =>
  db.deleteFrom("login_flows").where("user_id", "=", p.user_id),
);
