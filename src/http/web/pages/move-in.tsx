// Moving in with a file: the form, and what the file has.
/** @jsxImportSource hono/jsx */
import type { MovedIn } from "../../../services/moving-in.ts";
import { Field, fieldWith, Problem, Submit, UserForm } from "../fields.tsx";
import { useFrame } from "../frame.ts";
import { Layout, LinkLine, Notice } from "../layout.tsx";
import { texts } from "../texts.ts";
import { ImportedFeeds } from "./imported-feeds.tsx";

interface FormProps {
  notice?: string | null;
  problem?: string | null;
}

export function MoveInPage({ notice = null, problem = null }: FormProps) {
  const { moveIn } = texts;
  return (
    <Layout title={moveIn.title} section="account">
      <h1>{moveIn.title}</h1>
      <Notice>{notice}</Notice>
      <Problem>{problem}</Problem>
      <p>{moveIn.intro}</p>
      {useFrame().canWrite ? (
        <UserForm action="/account/move-in" enctype="multipart/form-data">
          <Field name="file" label={moveIn.file} type="file" required {...fieldWith(problem)} />
          <p class="small muted">{moveIn.files}</p>
          <Submit>{moveIn.show}</Submit>
        </UserForm>
      ) : (
        <p class="muted">{texts.podcasts.readOnly}</p>
      )}
      <p class="small muted">{moveIn.servers}</p>
      <LinkLine href="/account">{moveIn.back}</LinkLine>
    </Layout>
  );
}

/** @param data what the file has, which the form sends back */
export function PreviewPage({ found, data }: { found: MovedIn; data: string }) {
  const { moveIn } = texts;
  const { added, present, failed } = found.feeds;
  return (
    <Layout title={moveIn.title} section="account">
      <h1>{moveIn.preview(found.source)}</h1>
      <p>{moveIn.podcasts(added.length, present.length)}</p>
      <ImportedFeeds feeds={added} />
      {found.left.length > 0 && (
        <>
          <p>{moveIn.left(found.left.length)}</p>
          <ImportedFeeds feeds={found.left} />
        </>
      )}
      {failed.length > 0 && (
        <>
          <p>{moveIn.failed(failed.length)}</p>
          <ImportedFeeds feeds={failed} />
        </>
      )}
      <p>{found.actions === 0 ? moveIn.noEpisodes : moveIn.episodes(found.actions, found.stored)}</p>
      {found.ahead > 0 && <p>{moveIn.ahead(found.ahead)}</p>}
      {found.devices > 0 && <p>{moveIn.devices(found.devices)}</p>}
      <UserForm action="/account/move-in/confirm" enctype="multipart/form-data">
        <input type="hidden" name="data" value={data} />
        <Submit>{moveIn.add}</Submit>
      </UserForm>
      <LinkLine href="/account/move-in">{moveIn.other}</LinkLine>
    </Layout>
  );
}
