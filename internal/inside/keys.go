package inside

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Names of the helpers for credentials.
const (
	GitHelper = "git-credential-carrel" // git's only credential helper
	GPGHelper = "carrel-gpg"            // git's gpg.program
	GHHelper  = "gh"                    // before the real one
)

// keyHelpers are they, by name.
var keyHelpers = map[string]func([]string) int{GitHelper: gitCredential, GPGHelper: gpgSign, GHHelper: withToken}

// keyDeadline is longer than the supervisor's own, which may ask a person.
const keyDeadline = 5 * time.Minute

// Bounds of what the helpers take and hand on, in bytes.
const (
	maxKeyQuestion = 1 << 20
	maxKeyAnswer   = 128 << 10
)

// Exit statuses as those programs have them.
const (
	exitGPG     = 2
	exitNoGH    = 127
	exitRefused = 1
)

// brokered asks the supervisor with data, and gives what follows its reply.
func brokered(req Request, data []byte) (Reply, []byte, error) {
	req.Size = int64(len(data))
	reply, rest, done, err := exchange(req, data, keyDeadline)
	if err != nil {
		return reply, nil, err
	}
	defer done()
	if reply.Size < 0 || reply.Size > maxKeyAnswer {
		return reply, nil, fmt.Errorf("the supervisor announces %d bytes: at most %d", reply.Size, maxKeyAnswer)
	}
	answer := make([]byte, reply.Size)
	if _, err := io.ReadFull(rest, answer); err != nil {
		return reply, nil, fmt.Errorf("hearing the supervisor: %w", err)
	}
	return reply, answer, nil
}

func readBounded(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxKeyQuestion+1))
	if err == nil && len(data) > maxKeyQuestion {
		err = fmt.Errorf("it is longer than %d bytes", maxKeyQuestion)
	}
	return data, err
}

// gitCredential speaks git's protocol for credential helpers. What git wants to store or
// erase is not: the person's store is outside.
func gitCredential(args []string) int {
	if len(args) != 1 || args[0] != "get" {
		return 0
	}
	asked, err := readBounded(os.Stdin)
	if err == nil {
		var answer []byte
		if _, answer, err = brokered(Request{Operation: OpCredential}, asked); err == nil {
			_, err = os.Stdout.Write(answer)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "carrel: no credentials: %v\n", err)
		return exitRefused
	}
	return 0
}

// gpgSign is what git starts as gpg: it signs, and verifies nothing.
func gpgSign(args []string) int {
	signs, status := signsAs(args)
	if !signs {
		fmt.Fprintln(os.Stderr, "carrel: signatures cannot be verified here: the keys are outside; here git signs alone")
		return exitGPG
	}
	data, err := readBounded(os.Stdin)
	if err == nil {
		var reply Reply
		var signature []byte
		if reply, signature, err = brokered(Request{Operation: OpSign}, data); err == nil {
			if status {
				fmt.Fprint(os.Stderr, reply.Status)
			}
			_, err = os.Stdout.Write(signature)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "carrel: not signed: %v\n", err)
		return exitGPG
	}
	return 0
}

// signsAs says whether arguments are those with which git has something signed, and
// whether it reads what gpg says of it. The key that it names is not: the person's
// configuration names one.
func signsAs(args []string) (signs, status bool) {
	for _, a := range args {
		status = status || a == "--status-fd=2"
		signs = signs || a == "-bsau" || a == "--detach-sign"
	}
	return signs, status
}
