// Package historytest makes histories for tests of the rooms that look at them: it has files
// of a project changed step by step, and recorded as a run does. Only tests import it. Links,
// directories and renames are left to the tests of package history, which has a desk for them.
package historytest
