"""Claims written by somebody who has read the gates and looked for what they do not see."""
