package stdio

// sysKcmp is the number of kcmp(2).
const sysKcmp = 272
