"""Supervised fine-tuning with LoRA on a few cores: examples → batches → loss → adapter folder."""
