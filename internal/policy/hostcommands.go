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
	var out []Value[string]
	note := ""
	for _, l := range d.layers {
		for _, v := range l.Request.HostCommands {
			v = stamp(l, v)
			if !IsHostCommand(v.V) {
				d.fail(DimHostCommands, v.Source, "%s is not the name of a command", printable(v.V))
				continue
			}
			if by := d.commandBound(v.V); by != nil {
				note = d.beyond(DimHostCommands, v, *by, "other commands only", note)
				continue
			}
			out = addValue(out, v)
		}
	}
	for _, l := range d.project {
		for _, v := range l.Request.HostCommands {
			d.ignored(stamp(l, v).Source, "the host command "+printable(v.V)+" widens")
		}
	}
	d.out.HostCommands = out
	for _, c := range d.ceilings {
		if len(c.HostCommands) > 0 {
			note = joinNotes(note, "the ceiling "+c.HostCommands[0].Source.String()+" allows "+listText(c.HostCommands, "none"))
		}
	}
	d.reason(DimHostCommands, listText(out, "none"), listSource(out), note)
}

// commandBound is the source of a ceiling that does not list the command.
func (d *decision) commandBound(name string) *Source {
	for _, c := range d.ceilings {
		if len(c.HostCommands) > 0 && !holds(c.HostCommands, name) {
			return &c.HostCommands[0].Source
		}
	}
	return nil
}
