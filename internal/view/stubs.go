package view

func (in *inspector) accounts()     {}
func (in *inspector) names()        {}
func (in *inspector) certificates() {}
func (in *inspector) ssh()          {}
func (in *inspector) git()          {}
func (in *inspector) shell()        {}
