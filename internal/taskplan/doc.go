// Package taskplan answers the questions that an agent asks before it acts:
// where do I stand ([Brief]), how would this task go ([Plan]), and what does
// each tool do ([Catalog]). It calls nothing and changes nothing.
//
// Its words:
//
//   - A [Tool] is one entry of the server's table, as far as plans need it. A
//     plan names only tools that are in the table it was given, and only
//     parameters that they have.
//   - A [Snapshot] is what the server knows at this moment: ceiling, control,
//     profiles, workspaces. Nothing else of the machine is looked at.
//   - A kind is what a task is taken for: app QA, a task in a browser, shopping,
//     looking, cleaning up, unknown. Words of the intent decide, whole words
//     only: a border is no order, and a workshop no shop.
//   - A [StepTemplate] is one line of the step table: which tool, with which
//     arguments, when, after what. A kind's plan is a list of such lines.
//   - A fact is a word that a condition of a table asks for, as "running" or
//     "!headless". All of them are listed at [scene.look].
//   - A checkpoint is where a person may have to say something before a step:
//     input that is missing, an approval, a control that is not active.
//   - A boundary is a class of actions with the approval that it takes. What
//     goes into a cart and what is bought are two, and approved apart.
//
// The tables are the plans: steps, words, boundaries and notes stand in the
// files named *_table.go, and what reads them knows no task.
//
// Approvals here are told, not enforced: what a workspace may do is the
// ceiling's and the policy's, and a plan gives no acknowledgement in the user's
// name. A step says what is missing and leaves it out of the call.
//
// Everything is bounded: texts are cut, lists end. The package is pure and
// imports package api only.
package taskplan
