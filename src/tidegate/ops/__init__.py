"""What an operator does now and then: adopt, forget, clean."""
