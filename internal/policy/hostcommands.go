package policy

// maxCommandName is how long a host command's name may be, in bytes.
const maxCommandName = 64

// IsHostCommand says whether a text can be the name of a host command: letters, digits,
// '.', '_' and '-', of which the first is a letter or a digit, 64 at most. It is the rule
// of workmux's host_commands.
func IsHostCommand(name string) bool {
	if name == "" || len(name) > maxCommandName {
		return false
	}
	for i, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return true
}

// hostCommands is the union of what the layers list, below the ceilings. What runs such a
// command is not in the commands' own walls, so a project lists none.
func (d *decision) hostCommands() {
	bound := func(c *Ceiling) []Value[string] { return c.HostCommands }
	out, note := d.union(union{
		dim: DimHostCommands, word: "host command", want: "the name of a command", is: IsHostCommand,
		asked: func(r *Request) []Value[string] { return r.HostCommands }, bound: bound,
	})
	d.out.HostCommands = out
	for _, c := range d.ceilings {
		if list := bound(c); len(list) > 0 {
			note = joinNotes(note, "the ceiling "+list[0].Source.String()+" allows "+listText(list, "none"))
		}
	}
	d.reason(DimHostCommands, listText(out, "none"), listSource(out), note)
}
