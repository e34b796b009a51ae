package agents

import (
	"errors"
	"fmt"
	"strings"
)

// maxPrompt bounds a prompt in bytes: the kernel takes no longer argument
// (MAX_ARG_STRLEN, with the zero byte at its end and the flag before it).
const maxPrompt = 128<<10 - 64

// HeadlessArgv returns the command that has the agent work on one prompt without
// a terminal and end. The prompt is one argument, as it is: one that begins with
// "-" becomes no flag. Questions are not switched off by it, see PromptsOff.
// Standard input of the command should be empty: agents read what comes there as
// more of the prompt.
//
// It is an error when the agent has no known way to be asked, and when the
// prompt is empty, "-" (standard input, to some), has a zero byte, is longer than
// an argument may be, or begins with "-" where nothing keeps it from being read
// as a flag.
func (a Agent) HeadlessArgv(prompt string) ([]string, error) {
	if len(a.Headless) == 0 {
		return nil, fmt.Errorf("%s: no way is known to give it a prompt without a terminal", a.Title)
	}
	return a.argvWith(a.Headless, prompt)
}

// PromptedArgv returns the command that begins a conversation at a terminal with a prompt, or
// without one where it is empty. The prompt is as with [Agent.HeadlessArgv].
func (a Agent) PromptedArgv(prompt string) ([]string, error) {
	switch {
	case prompt == "":
		return []string{a.Executables[0]}, nil
	case len(a.Prompted) == 0:
		return nil, fmt.Errorf("%s: no way is known to give it a prompt at its start\nhint: start it without one and send it the prompt", a.Title)
	}
	return a.argvWith(a.Prompted, prompt)
}

func (a Agent) argvWith(words []string, prompt string) ([]string, error) {
	if err := checkPrompt(prompt); err != nil {
		return nil, err
	}
	argv := append([]string{a.Executables[0]}, words...)
	last := len(argv) - 1
	switch {
	case strings.HasSuffix(argv[last], "="):
		argv[last] += prompt
		return argv, nil
	case strings.HasPrefix(prompt, "-") && argv[last] != "--":
		return nil, fmt.Errorf("%s would read a prompt that begins with \"-\" as a flag; begin it with another character", a.Title)
	}
	return append(argv, prompt), nil
}

func checkPrompt(prompt string) error {
	switch {
	case strings.TrimSpace(prompt) == "":
		return errors.New("the prompt is empty")
	case prompt == "-":
		return errors.New("the prompt \"-\" means standard input to some agents; want text")
	case strings.ContainsRune(prompt, 0):
		return errors.New("the prompt has a zero byte, which no argument can hold")
	case len(prompt) > maxPrompt:
		return fmt.Errorf("the prompt has %d bytes, and no argument may have more than %d; put it in a file and ask for that",
			len(prompt), maxPrompt)
	}
	return nil
}
