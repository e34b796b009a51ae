package workspace

// profileName is the profile that the workspace is made of, "" for none.
func (p *Prepared) profileName() string { return "" }

// prepareApps runs what the profile wants run before everything else, and starts what
// it wants started.
func (d *desk) prepareApps() Ready { return Ready{} }
