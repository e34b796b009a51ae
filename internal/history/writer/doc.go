// Package writer keeps what the changes of a run destroy, before they are made.
//
// A [Writer] writes one segment of a store. It is told of each change before it is made
// ([Writer.Before]) and after ([Writer.After]). The first time that a step touches something,
// the writer stores what is there. Then it writes down the intent, and only then lets the change
// happen. A step knows the names that it has touched as a tree that follows renames. So what is
// kept is kept by the path that it had when the step began.
//
// What is about to lose its name is linked into the store where no process could still write to
// it; other files are cloned or copied. A file that the step has opened for writing is watched
// until it is closed. So what another program writes to it since is told from what the step
// wrote. [Writer.End] looks at all that the step touched, and writes down what it left.
//
// A writer has layers, each of which knows only those before it: segmentWriter writes the
// journal and the objects, view looks at the roots, and knowledge is what the open step knows.
// grants watches the files that it writes to, preimages keeps what a change destroys, and
// strangers finds what other programs did. When the step ends, closing goes through what it has
// touched.
//
// An undo is a step as well: [UndoWriter.WritePlan] writes its plan down before its first
// action, and [UndoWriter.EndUndo] what it left. [CloseStep] ends the step of a writer that was killed.
package writer
