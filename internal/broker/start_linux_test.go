package broker

import "testing"

// TestInterpreterOf: the first line of a script as the kernel reads it.
func TestInterpreterOf(t *testing.T) {
	for head, want := range map[string]string{
		"#!/bin/sh\necho": "/bin/sh", "#!/bin/sh": "/bin/sh", "#! \t/usr/bin/env node\n": "/usr/bin/env", "#!/bin/sh\t-e\n": "/bin/sh",
		"#!relative x\n": "relative", "#!/a\x00b\n": "/a", "#!\n/bin/sh": "", "#!": "", "#!   \n": "", "": "", "#": "", "\x7fELF": "", " #!/bin/sh": "",
	} {
		if got := interpreterOf([]byte(head)); got != want {
			t.Errorf("%q: got %q, want %q", head, got, want)
		}
	}
}
