package fileops

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// Exit statuses of the helper. An error that is told is an answer.
const (
	exitAnswered = 0
	exitUsage    = 2
	exitFailed   = 3
)

// Stay is the argument with which the helper stays for further requests.
const Stay = "--stay"

// Argv is how the helper is started for a request. What comes after the operation is
// for people who read the history, and means nothing.
//
// With beneath no path of it may leave that directory.
func Argv(helper string, beneath Path, req Request) []string {
	argv := []string{helper, req.op()}
	if beneath != "" {
		argv = append(argv, flagBeneath, string(beneath))
	}
	if subject := req.subject(); subject != "" {
		argv = append(argv, shorten(subject.String(), 200))
	}
	return argv
}

// Main reads one request from in and writes one answer, a line of JSON, to out; with
// [Stay] it takes requests from a socket.
func Main(argv []string, in io.Reader, out, errOut io.Writer) int {
	// One call ends before a collection would pay, and holds no more than its bounds.
	debug.SetGCPercent(400)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if len(argv) == 2 && argv[1] == Stay {
		return stay(ctx, 0)
	}
	return once(ctx, argv, in, out, errOut)
}

// once carries out the request that argv and in are.
func once(ctx context.Context, argv []string, in io.Reader, out, errOut io.Writer) int {
	if len(argv) < 2 {
		fmt.Fprintf(errOut, "carrel: it reads one request, a JSON object, from its standard input, and wants the operation as an argument: %q\n", Ops())
		return exitUsage
	}
	line, err := encode(answerTo(ctx, argv, in))
	if err == nil && len(line) > MaxAnswer {
		line, err = encode(reply{Error: &Error{Code: CodeTooLarge, Operation: argv[1], Message: fmt.Sprintf("the answer has more than %d bytes", MaxAnswer), Hint: "ask for less with limit"}})
	}
	if err == nil {
		_, err = out.Write(line)
	}
	if err != nil {
		fmt.Fprintf(errOut, "carrel: answering: %v\n", err)
		return exitFailed
	}
	return exitAnswered
}

const flagBeneath = "--beneath"

func answerTo(ctx context.Context, argv []string, in io.Reader) reply {
	op, dir := argv[1], ""
	if len(argv) > 3 && argv[2] == flagBeneath {
		dir = argv[3]
	}
	data, err := io.ReadAll(io.LimitReader(in, MaxRequest+1))
	if err != nil {
		return reply{Error: of(op, "", err, CodeIO)}
	}
	req, err := Decode(op, data)
	if err != nil {
		return reply{Error: of(op, "", err, CodeRequest)}
	}
	answer, err := Do(ctx, dir, req)
	if err != nil {
		return reply{Error: of(op, "", err, CodeIO)}
	}
	return reply{Answer: answer}
}
