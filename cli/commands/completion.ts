// `podkeep completion`: shell completion scripts, which ask the program for candidates.
import { Argument, type Command } from "commander";
import { printableJson } from "../../src/domain/printable.ts";
import { print, wantsJson, write } from "../terminal/output.ts";

/** The hidden command of the scripts; the words typed so far follow, the unfinished one last. */
export const COMPLETE = "__complete";

const BASH = `# podkeep completion for bash: eval "$(podkeep completion bash)"
_podkeep() {
  local IFS=$'\\n' line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then compopt -o default; else COMPREPLY+=("\${line%%$'\\t'*}"); fi
  done < <("\${COMP_WORDS[0]}" ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _podkeep podkeep
`;

const ZSH = `#compdef podkeep
# podkeep completion for zsh: eval "$(podkeep completion zsh)" after compinit
_podkeep() {
  local line files
  local -a values
  for line in "\${(@f)$("\${words[1]}" ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == :files ]]; then files=1
    elif [[ -n $line ]]; then values+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}"); fi
  done
  (( \${#values} )) && _describe podkeep values
  [[ -n $files ]] && _files
}
if [[ \${funcstack[1]} == _podkeep ]]; then _podkeep "$@"; else compdef _podkeep podkeep; fi
`;

const FISH = `# podkeep completion for fish: podkeep completion fish > ~/.config/fish/completions/podkeep.fish
function __podkeep_complete
  set -l typed (commandline -opc)
  set -l current (commandline -ct)
  for line in ($typed[1] ${COMPLETE} $typed[2..-1] "$current" 2>/dev/null)
    if test "$line" = :files
      __fish_complete_path "$current"
    else
      echo $line
    end
  end
end
complete -c podkeep -f -a '(__podkeep_complete)'
`;

const SCRIPTS: Record<string, string> = { bash: BASH, zsh: ZSH, fish: FISH };

export function addCompletionCommand(program: Command): void {
  program
    .command("completion")
    .description("Print a shell script that completes commands, flags, user names and ids")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(SCRIPTS)))
    .addHelpText("after", '\nExample: eval "$(podkeep completion bash)"')
    .action(async (shell: string, _options: unknown, command: Command) => {
      const script = SCRIPTS[shell] ?? "";
      await (wantsJson(command) ? print(printableJson({ shell, script }, 2)) : write(script));
    });
}
