// Package fileops is what file tools for agents do: read, write, edit, list, glob and grep. A
// request is a small struct with strict JSON, and an answer is one too. Each is carried out in
// the process's own view of the file system:
//
//	req, err := fileops.Decode("read_file", []byte(`{"path":"main.go"}`))
//	answer, err := fileops.Do(ctx, "", req)
//
// [Main] is the program around that, the helper carrel-file: one request on its standard input,
// one answer on its standard output; or, with [Stay], one after the other from a socket, each
// with descriptors of its own. A front end outside starts it inside a workspace. So there is no
// second set of rules: what a file tool may do is what any program there may do, held by the
// same walls. What it changes is recorded like the changes of any command. This package decides
// nothing and checks no permission.
//
// # Writing in place
//
// A file that exists is written in place and not replaced by a rename. That is what a person
// expects of an editor: the mode, the owner, access lists and extended attributes stay, and all
// hard links go on naming the same file. A symlink stays one and its target is written. A file
// that is a mount point can be written at all, and no other name appears in the directory
// meanwhile. A rename would be atomic for readers and lose all of that. What it protects from is
// done otherwise: what does not fit on the disk is found out before the first byte is lost. A
// write that fails in the middle puts the old bytes back, and the history has them too. What
// already has the wanted bytes is not opened for writing, so that it makes no step.
//
// # Names
//
// Names are bytes and JSON is not. A [Path] that is no text, or has control
// characters, is told in Go's quoted form, with the quotes, and is understood in that
// form: what was told can be asked for.
//
// # Bounds
//
// Every answer is bounded and says so where something was left out. Trees are walked with a list
// of what is to do and no recursion. Links to directories are not followed, and everything ends
// when its context does.
//
// The package imports nothing of this module.
package fileops
